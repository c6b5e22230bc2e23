// When a device allocator looks for pieces that nobody needs: the clock of retain::idle.
//
// A look gives back the pieces that have rested since the look before (stream_tag::resting), and has those rest that
// are wholly free for all now; a request that takes from one ends its rest. So no request writes down that it used a
// piece.
// Cost: a clock read a request, 8 bytes; nothing for other answers. Threads: due() any; the rest by who looks.
// Source: the clock algorithm's two looks, Corbato 1969, as in page/idle_pages.hpp.
#pragma once

#include <allot/config.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Retain> struct idle_trimmer {
    static constexpr bool enabled = false;
};
template <class Retain>
    requires requires { Retain::after; }
struct idle_trimmer<Retain> {
    static constexpr bool enabled = true;
    static constexpr int pieces_per_scan = 8; // that go back at once

    bool due() const noexcept { return Retain::clock::now() >= next_.load(std::memory_order_relaxed); }
    void scanned() noexcept {
        next_.store(Retain::clock::now() + std::uint64_t{Retain::after.ms} * 1'000'000, std::memory_order_relaxed);
    }

  private:
    std::atomic<std::uint64_t> next_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
