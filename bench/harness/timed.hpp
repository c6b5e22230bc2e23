// The timed part of a workload: measures its CPU time, or, under a tracer (traced.hpp), marks where counting of
// instructions starts and ends.
#pragma once

#include <harness/measure.hpp>

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace bench {

// What the instructions between two marks belong to.
enum class part : std::uint64_t { operations, allocate, release };

// Operations so far, in memory that the tracer reads; null when nobody traces.
inline std::uint64_t* traced_operations = nullptr;

BENCH_INLINE void mark([[maybe_unused]] part p) noexcept {
#if defined(__x86_64__)
    asm volatile("int3" : : "a"(p) : "memory");
#endif
}

// CPU nanoseconds of this thread for `f`, which does so many operations.
template <class F> double timed(std::size_t operations, F&& f) {
    if (traced_operations != nullptr) {
        __atomic_fetch_add(traced_operations, operations, __ATOMIC_RELAXED);
        mark(part::operations);
        f();
        mark(part::operations);
        return 0;
    }
    const double start = cpu_ns();
    f();
    return cpu_ns() - start;
}

// ---- one call at a time --------------------------------------------------------------------------------------

// Nothing is reordered across it.
BENCH_INLINE std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    _mm_lfence();
    const std::uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
#else
    return static_cast<std::uint64_t>(wall_ns());
#endif
}

struct tick_scale {
    double ns = 1;             // a tick
    std::uint64_t reading = 0; // ticks that reading the clock twice takes

    static tick_scale now() noexcept {
        tick_scale s;
        const double begin = wall_ns();
        const std::uint64_t first = ticks();
        std::uint64_t least = ~std::uint64_t{0};
        while (wall_ns() - begin < 5e6) {
            const std::uint64_t a = ticks(), b = ticks();
            least = b - a < least ? b - a : least;
        }
        s.ns = (wall_ns() - begin) / static_cast<double>(ticks() - first);
        s.reading = least;
        return s;
    }
};

} // namespace bench
