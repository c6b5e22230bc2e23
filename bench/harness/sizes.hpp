// The sizes that a workload requests: one size, or the mixture of the study of the peers (lognormal, median 110, sigma
// 0.7, clipped to 24..600 bytes). The mixture is a table made from a fixed seed, so all subjects see the same.
//
// A workload keeps a row as one word: its address, and for mixed sizes the size above bit 48, since programs often know
// the size when they release a row, and some allocators need it.
#pragma once

#include <harness/measure.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

namespace bench {

using word = std::uintptr_t;

struct one_size {
    std::size_t bytes;
    BENCH_INLINE std::size_t operator()(std::size_t) const noexcept { return bytes; }
    BENCH_INLINE static word keep(void* row, std::size_t) noexcept { return reinterpret_cast<word>(row); }
    BENCH_INLINE static void* row(word w) noexcept { return reinterpret_cast<void*>(w); }
    BENCH_INLINE std::size_t size(word) const noexcept { return bytes; }
};

class mixed_sizes {
  public:
    static constexpr std::size_t largest = 600;
    static constexpr std::size_t mean = 140;

    BENCH_INLINE std::size_t operator()(std::size_t i) const noexcept { return table[i % table.size()]; }
    BENCH_INLINE static word keep(void* row, std::size_t bytes) noexcept {
        return reinterpret_cast<word>(row) | word{bytes} << 48;
    }
    BENCH_INLINE static void* row(word w) noexcept { return reinterpret_cast<void*>(w & ((word{1} << 48) - 1)); }
    BENCH_INLINE static std::size_t size(word w) noexcept { return w >> 48; }

  private:
    using list = std::array<std::uint16_t, 1 << 16>;
    static list make() {
        list all{};
        std::mt19937_64 random(7);
        std::lognormal_distribution<double> bytes(std::log(110.0), 0.7);
        for (auto& size : all) {
            const double b = bytes(random);
            size = static_cast<std::uint16_t>(b < 24 ? 24 : b > double(largest) ? double(largest) : b);
        }
        return all;
    }
    static inline const list table = make();
};

} // namespace bench
