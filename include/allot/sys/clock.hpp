// A clock in nanoseconds, and the processor's tick counter.
//
// Cost: ticks() about 20 cycles, never a system call.
// Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/fault.hpp>

#include <cstdint>
#include <ctime>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

namespace detail {

inline std::uint64_t nanoseconds(clockid_t clock) noexcept {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

} // namespace detail

// Nanoseconds since an unspecified start; monotonic.
struct fine_clock {
    static std::uint64_t now() noexcept {
        return fault::is_directed() ? fault::now() : detail::nanoseconds(CLOCK_MONOTONIC);
    }
};

// The tick rate is constant. To convert ticks to time, read fine_clock at the same two points.
inline std::uint64_t ticks() noexcept {
#if ALLOT_X86_64
    std::uint32_t low, high;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    return std::uint64_t{high} << 32 | low;
#elif ALLOT_AARCH64
    std::uint64_t count;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return fine_clock::now();
#endif
}

} // namespace detail::sys

namespace sys {
using detail::sys::fine_clock;
} // namespace sys
} // namespace allot::inline ALLOT_ABI
