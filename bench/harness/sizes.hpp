// The sizes that a workload asks for: one, or the mixture of the peers' study (lognormal, median 110, sigma 0.7,
// clipped to 24..600 bytes). The mixture is a table made once from a fixed seed, so all subjects see the same.
#pragma once

#include <harness/measure.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

namespace bench {

struct one_size {
    std::size_t bytes;
    std::size_t operator()(std::size_t) const noexcept { return bytes; }
};

class mixed_sizes {
  public:
    static constexpr std::size_t largest = 600;
    static constexpr std::size_t mean = 140;

    BENCH_INLINE std::size_t operator()(std::size_t i) const noexcept { return table[i % table.size()]; }

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
