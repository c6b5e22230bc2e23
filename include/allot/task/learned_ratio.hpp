// What earlier tasks of one kind made of their inputs: bytes of output by bytes of input.
//
// Cost: 16 bytes. Threads: any. Source: BlazingSQL's estimate of a kernel's output, 2021.
#pragma once

#include <allot/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class learned_ratio {
  public:
    /// One task has made that many bytes of these.
    void note(std::size_t input, std::size_t output) noexcept {
        input_.fetch_add(input, std::memory_order_relaxed);
        output_.fetch_add(output, std::memory_order_relaxed);
    }
    /// Bytes that a task makes of these; `otherwise`: as long as nothing is known.
    std::size_t estimate(std::size_t input, std::size_t otherwise) const noexcept {
        const std::uint64_t in = input_.load(std::memory_order_relaxed), out = output_.load(std::memory_order_relaxed);
        if (in == 0) return otherwise;
        const double bytes = static_cast<double>(input) * (static_cast<double>(out) / static_cast<double>(in));
        return bytes < 9e18 ? static_cast<std::size_t>(bytes) : std::size_t{1} << 62;
    }

  private:
    std::atomic<std::uint64_t> input_{0}, output_{0};
};

} // namespace allot::inline ALLOT_ABI
