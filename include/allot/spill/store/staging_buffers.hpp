// A fixed number of buffers, each for one extent: where its bytes are not in one piece, are a part, or are compressed.
//
//     raw  extent_bytes | packed  extent_bytes, where extents are compressed
//
// A thread that finds none waits for one. The others do nothing but reads and writes while they have one: no request of
// memory, no lock; so the wait ends. Invariant: a bit of the mask is set for each free buffer.
// Cost: the buffers, mapped once; one atomic exchange to take and to put. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/sys/map.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

class staging_buffers {
  public:
    static constexpr unsigned most = 32;

    // A buffer until it ends.
    class held {
      public:
        explicit held(staging_buffers& of) noexcept : of_(of), number_(of.take()) {}
        held(const held&) = delete;
        held& operator=(const held&) = delete;
        ~held() { of_.put(number_); }
        std::byte* raw() const noexcept { return of_.memory_ + number_ * of_.each_; }
        std::byte* packed() const noexcept { return raw() + of_.extent_; }

      private:
        staging_buffers& of_;
        const unsigned number_;
    };

    staging_buffers() = default;
    staging_buffers(const staging_buffers&) = delete;
    staging_buffers& operator=(const staging_buffers&) = delete;
    ~staging_buffers() {
        if (memory_ != nullptr) sys::unmap(memory_, bytes_);
    }

    // Requires: 1 <= n <= most. False: the system has no memory.
    bool open(unsigned n, std::size_t extent, bool packs) noexcept {
        extent_ = extent;
        each_ = packs ? 2 * extent : extent;
        bytes_ = align_up(n * each_, sys::os_page_bytes());
        std::byte* const p = sys::reserve(bytes_, sys::os_page_bytes());
        if (p == nullptr) return false;
        memory_ = p;
        if (!sys::commit(p, bytes_)) return false;
        free_.store(n == most ? ~std::uint32_t{0} : (std::uint32_t{1} << n) - 1, std::memory_order_relaxed);
        return true;
    }

  private:
    unsigned take() noexcept {
        for (std::uint32_t now = free_.load(std::memory_order_relaxed);;) {
            if (now == 0) {
                free_.wait(0, std::memory_order_relaxed);
                now = free_.load(std::memory_order_relaxed);
            } else if (free_.compare_exchange_weak(now, now & (now - 1), std::memory_order_acquire,
                                                   std::memory_order_relaxed)) {
                return static_cast<unsigned>(std::countr_zero(now));
            }
        }
    }
    void put(unsigned number) noexcept {
        free_.fetch_or(std::uint32_t{1} << number, std::memory_order_release);
        free_.notify_one();
    }

    std::byte* memory_ = nullptr;
    std::size_t bytes_ = 0, extent_ = 0, each_ = 0;
    std::atomic<std::uint32_t> free_{0};
};

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
