// Makes the n-th call to the system fail, for tests built with ALLOT_FAULTS=1. Nothing otherwise.
//
//     for (n = 1;; ++n) { sys::fault::fail_nth(n); run(); if (!sys::fault::struck()) break; }
//
// Threads: the counters are atomic; set them while no other thread calls.
#pragma once

#include <allot/config.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace sys {
namespace fault {

#if ALLOT_FAULTS
struct counters {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> doomed{0}; // the number of the first call to fail; 0: none
    std::atomic<std::uint64_t> last{0};   // and of the last one
    std::atomic<bool> struck{false};
};
inline counters state;

// `many`: and those after it.
inline void fail_nth(std::uint64_t n, std::uint64_t many = 1) noexcept {
    state.calls = 0;
    state.struck = false;
    state.doomed = n;
    state.last = n + many - 1;
}
inline bool struck() noexcept { return state.struck; }
inline std::uint64_t calls() noexcept { return state.calls; }
inline bool strikes() noexcept {
    const std::uint64_t call = state.calls.fetch_add(1) + 1;
    const bool now = state.doomed != 0 && call >= state.doomed && call <= state.last;
    if (now) state.struck = true;
    return now;
}
#else
constexpr bool strikes() noexcept { return false; }
#endif

} // namespace fault
} // namespace sys
} // namespace allot::inline ALLOT_ABI
