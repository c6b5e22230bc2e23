// Numbers 0 to 31 that threads take and put back: of staging buffers, of rings.
//
// Invariant: a bit of the mask is set for each number that is free. Cost: 4 bytes; one atomic exchange to take and one to
// put. Threads: any, but for open().
#pragma once

#include <allot/config.hpp>

#include <atomic>
#include <bit>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class free_numbers {
  public:
    static constexpr unsigned most = 32;

    /// Requires: n <= most.
    void open(unsigned n) noexcept {
        free_.store(n == most ? ~std::uint32_t{0} : (std::uint32_t{1} << n) - 1, std::memory_order_relaxed);
    }
    /// Returns: `most` if none is free.
    unsigned try_take() noexcept {
        std::uint32_t now = free_.load(std::memory_order_relaxed);
        while (now != 0 && !free_.compare_exchange_weak(now, now & (now - 1), std::memory_order_acquire,
                                                        std::memory_order_relaxed)) {
        }
        return static_cast<unsigned>(std::countr_zero(now));
    }
    /// Waits until one is free.
    unsigned take() noexcept {
        for (;;) {
            if (const unsigned number = try_take(); number != most) return number;
            free_.wait(0, std::memory_order_relaxed);
        }
    }
    void put(unsigned number) noexcept {
        free_.fetch_or(std::uint32_t{1} << number, std::memory_order_release);
        free_.notify_one();
    }

  private:
    std::atomic<std::uint32_t> free_{0};
};
static_assert(std::countr_zero(std::uint32_t{0}) == free_numbers::most);

} // namespace detail
} // namespace allot::inline ALLOT_ABI
