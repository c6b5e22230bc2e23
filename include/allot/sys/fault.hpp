// Makes the n-th system call fail, and replaces the clock and sleep, for tests built with ALLOT_FAULTS=1.
// Empty otherwise.
//
//     for (n = 1;; ++n) { sys::fault::fail_nth(n); run(); if (!sys::fault::has_failed()) break; }
//     sys::fault::director = &mine; // a stage: it says what time it is, and which thread runs
//
// Threads: the counters are atomic; call fail_nth() while no other thread makes system calls, and set the director
// while no other thread uses the library.
#pragma once

#include <allot/config.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {
namespace fault {

#if ALLOT_FAULTS
struct counters {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> first_failing{0}; // the number of the first call that fails; 0: none
    std::atomic<std::uint64_t> last_failing{0};
    std::atomic<bool> has_failed{false};
};
inline counters state;

// The n-th call from now on fails, and the `many` - 1 calls after it.
inline void fail_nth(std::uint64_t n, std::uint64_t many = 1) noexcept {
    state.calls = 0;
    state.has_failed = false;
    state.first_failing = n;
    state.last_failing = n + many - 1;
}
// True when a call was made to fail since fail_nth().
inline bool has_failed() noexcept { return state.has_failed; }
inline std::uint64_t calls() noexcept { return state.calls; }

// Runs threads in an order and a time that a test chooses.
class stage {
  public:
    // Of fine_clock.
    virtual std::uint64_t now() noexcept = 0;
    // The calling thread sleeps until wake(at), or until `end`; it may wake at any time.
    virtual void sleep(const void* at, std::uint64_t end) noexcept = 0;
    virtual void wake(const void* at) noexcept = 0;
    // It makes a system call, which may take long, or yields.
    virtual void at_system_call() noexcept {}

  protected:
    ~stage() = default;
};
inline stage* director = nullptr;
inline bool is_directed() noexcept { return director != nullptr; }
inline std::uint64_t now() noexcept { return director->now(); }
inline void sleep(const void* at, std::uint64_t end) noexcept { director->sleep(at, end); }
inline void wake(const void* at) noexcept { director->wake(at); }
inline void at_system_call() noexcept { director->at_system_call(); }

// Counts a call. True: the call must fail.
inline bool should_fail() noexcept {
    if (is_directed()) at_system_call();
    const std::uint64_t call = state.calls.fetch_add(1) + 1;
    const bool now = state.first_failing != 0 && call >= state.first_failing && call <= state.last_failing;
    if (now) state.has_failed = true;
    return now;
}
#else
constexpr bool should_fail() noexcept { return false; }
constexpr bool is_directed() noexcept { return false; }
constexpr std::uint64_t now() noexcept { return 0; }
constexpr void sleep(const void*, std::uint64_t) noexcept {}
constexpr void wake(const void*) noexcept {}
constexpr void at_system_call() noexcept {}
#endif

} // namespace fault
} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
