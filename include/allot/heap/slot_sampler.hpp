// Picks slots of a page to look at: all of them when the quota allows, otherwise one at random of each of as many
// equal stretches.
//
// Random, because rows of different types often come in turns, and even distances could meet one of them alone.
// Cost: a multiplication a slot. Threads: one. Source: stratified sampling, Neyman 1934.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class slot_sampler {
  public:
    // Calls with min(n, quota) different ones of 0 .. n - 1; returns how many.
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

} // namespace allot::inline ALLOT_ABI
