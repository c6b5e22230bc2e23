// A fixed number of buffers, each for one extent: where its bytes are not in one piece, are a part, or are compressed.
//
//     raw  extent_bytes | packed  extent_bytes, where extents are compressed
//
// A thread that finds none waits for one. The others do nothing but reads and writes while they have one: no request of
// memory, no lock; so the wait ends.
// Cost: the buffers, mapped once; one atomic exchange to take and to put. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/spill/store/free_numbers.hpp>
#include <allot/sys/map.hpp>

#include <cstddef>
#include <span>

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

class staging_buffers {
  public:
    static constexpr unsigned most = free_numbers::most;

    // A buffer until it ends.
    class held {
      public:
        explicit held(staging_buffers& of) noexcept : of_(of), number_(of.free_.take()) {}
        held(const held&) = delete;
        held& operator=(const held&) = delete;
        ~held() { of_.free_.put(number_); }
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
        return free_.open(n), true;
    }

    std::span<std::byte> all() const noexcept { return {memory_, bytes_}; }

  private:
    std::byte* memory_ = nullptr;
    std::size_t bytes_ = 0, extent_ = 0, each_ = 0;
    free_numbers free_;
};

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
