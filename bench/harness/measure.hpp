// The parts of every measurement: clocks, optimizer barriers, a random source.
//
// Barriers are the same for all subjects: the first and the last word of an allocated row are written and made visible
// to the compiler, so that nothing is optimized away and no state stays in registers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>

#define BENCH_NOINLINE [[gnu::noinline]]
#define BENCH_INLINE [[gnu::always_inline]] inline

namespace bench {

inline double clock_ns(clockid_t clock) noexcept {
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
inline double cpu_ns() noexcept { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
inline double wall_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

// The compiler must take the object as known to others: its members are in memory at each barrier.
BENCH_INLINE void escape(const void* p) noexcept { asm volatile("" : : "r"(p) : "memory"); }

BENCH_INLINE void write_word(void* p, std::size_t offset, std::uint64_t value) noexcept {
    std::memcpy(static_cast<char*>(p) + offset, &value, sizeof value);
}
// First and last word of a row of at least 8 bytes.
BENCH_INLINE void touch(void* p, std::size_t bytes, std::uint64_t value) noexcept {
    write_word(p, 0, value);
    write_word(p, bytes - 8, value);
    escape(p);
}

// xorshift64: about 1 ns, the same numbers for every subject.
struct random_source {
    std::uint64_t state = 88172645463325252ull;
    BENCH_INLINE std::uint64_t operator()() noexcept {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
    }
    // Below `n`, without a division.
    BENCH_INLINE std::size_t below(std::size_t n) noexcept { return ((*this)() >> 32) * n >> 32; }
};

// What one run of a workload measured: the figures that its definition names, in that order.
inline constexpr std::size_t most_stats = 11;
using sample = std::array<double, most_stats>;

} // namespace bench
