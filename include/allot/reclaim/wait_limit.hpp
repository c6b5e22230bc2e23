// How long a request waits for memory, and what ends its wait earlier.
//
//     void* const row = rows.allocate_for(n, 500_ms);
//     void* const same = rows.allocate_for(n, {10_s, stop});   // allot::cancellation stop
//
// Cost: 24 bytes. Threads: values.
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
    bool is_patient = false; // patient(): it shuts no cache, and recalls no credit

    // On fine_clock.
    std::uint64_t deadline() const noexcept {
        if (most.ms == forever.ms) return detail::sys::parking::never;
        const std::uint64_t now = sys::fine_clock::now(), longest = (detail::sys::parking::never - 1 - now) / 1'000'000;
        return now + (most.ms < longest ? most.ms : longest) * 1'000'000;
    }
};

/// The same for a request that others do not hurry for, of work that has not begun: while it waits, accounts keep their
/// credit and products their caches. So it is granted from what is refunded; and it looks again after 10 to 100 ms.
constexpr wait_limit patient(wait_limit of) noexcept { return of.is_patient = true, of; }

} // namespace allot::inline ALLOT_ABI
