// Samples slots of a page: all of them if the quota allows, else one random slot from each of `quota` equal intervals.
//
// Random, because rows of different types often alternate, and equal distances could sample one type only.
// Cost: a multiplication per slot. Threads: one. Source: stratified sampling, Neyman 1934.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class slot_sampler {
  public:
    // Calls call(i) for min(n, quota) different indexes in 0 .. n - 1; returns their number.
    template <class Call> std::size_t pick(std::size_t n, std::size_t quota, Call call) noexcept {
        const std::size_t picks = quota < n ? quota : n;
        for (std::size_t i = 0; i < picks; ++i) {
            const std::size_t from = i * n / picks, to = (i + 1) * n / picks;
            call(static_cast<std::uint32_t>(from + below(to - from)));
        }
        return picks;
    }

  private:
    std::size_t below(std::size_t n) noexcept {
        if (n <= 1) return 0;
        seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
        return (seed_ >> 33) % n;
    }
    std::uint64_t seed_ = 0x9E3779B97F4A7C15u;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
