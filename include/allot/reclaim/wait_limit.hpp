// How long a request waits for memory, and what ends its wait earlier.
//
//     void* const row = rows.allocate_for(n, 500_ms);
//     void* const same = rows.allocate_for(n, {10_s, stop});   // allot::cancellation stop
//
// Cost: 16 bytes. Threads: values.
#pragma once

#include <allot/config.hpp>
#include <allot/core/units.hpp>
#include <allot/reclaim/cancellation.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/parking.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// `500_ms`, or `{500_ms, cancellation}`.
struct wait_limit {
    constexpr wait_limit(time_span longest) noexcept : most(longest) {}
    template <detail::duration Duration> constexpr wait_limit(const Duration& longest) noexcept : most(longest) {}
    constexpr wait_limit(time_span longest, cancellation& ended_by) noexcept : most(longest), end(&ended_by) {}

    time_span most;
    cancellation* end = nullptr;

    // On fine_clock.
    std::uint64_t deadline() const noexcept {
        if (most.ms == forever.ms) return sys::parking::never;
        const std::uint64_t now = sys::fine_clock::now(), longest = (sys::parking::never - 1 - now) / 1'000'000;
        return now + (most.ms < longest ? most.ms : longest) * 1'000'000;
    }
};

} // namespace allot::inline ALLOT_ABI
