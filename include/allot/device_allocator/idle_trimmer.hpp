// The timer of retain::idle in a device allocator: when the next idle scan is due.
//
// A scan returns the pieces that have been resting since the previous scan (stream_tag::resting), and marks as resting
// those that are wholly free for every stream now. A request that takes from a resting piece makes it clean again.
// Cost: one clock read per request, 8 bytes; nothing under other policies.
// Threads: due(): any; scanned(): requires the growth lock.
// Source: the two passes of the clock algorithm, Corbato (1969), as in page/idle_pages.hpp.
#pragma once

#include <allot/account/tenant.hpp>
#include <allot/config.hpp>
#include <allot/sys/clock.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The device allocators under retain::idle.
inline constinit tenants idle_devices;

template <class Retain> struct idle_trimmer {
    static constexpr bool enabled = false;
};
template <class Retain>
    requires requires { Retain::after; }
struct idle_trimmer<Retain> {
    static constexpr bool enabled = true;
    static constexpr int pieces_per_scan = 8; // returned at most

    bool due() const noexcept { return Retain::clock::now() >= next_.load(std::memory_order_relaxed); }
    void scanned() noexcept {
        next_.store(Retain::clock::now() + std::uint64_t{Retain::after.ms} * 1'000'000, std::memory_order_relaxed);
    }

  private:
    std::atomic<std::uint64_t> next_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
