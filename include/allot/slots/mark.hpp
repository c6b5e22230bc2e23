// The mark of a slot that was freed to its heaplet. It is never among the row's bytes, which may have any value.
//
//   rows with a header:   | ... | count word | row ...    bit 30 of the count word; no live row has it
//   rows without one:     a byte per slot, out of band
//
// Invariant: a slot is marked from its put to its claim, never while it holds a row or is in a cache.
// Cost: nothing, or a byte per slot; marking is one store to a line that the release has just written.
// Threads: set() by the slot's last user; take() by the holder of the heap's lock, for slots below the high-water mark
// only: count words above it were never written.
// Source: the free tag of HPCC roxiemem's scanning heaps, 2013, also in the row's header.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/slots/geometry.hpp>
#include <allot/sys/poison.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

class slot_marks {
  public:
    static constexpr std::uint32_t bit = std::uint32_t{1} << 30; // of the count word

    static constexpr bool in_front(std::size_t header) noexcept { return header >= sizeof(std::uint32_t); }
    static constexpr std::size_t out_of_band_bytes(std::size_t slots, std::size_t header) noexcept {
        return in_front(header) ? 0 : align_up(slots, std::size_t{8});
    }

    // `out_of_band` is out_of_band_bytes(capacity, header) of memory.
    slot_marks(std::byte* out_of_band, const slot_geometry& cut) noexcept
        : bytes_(in_front(cut.header) ? nullptr : reinterpret_cast<byte_word*>(out_of_band)) {}
    // Clears the marks out of band. Marks in count words are cleared when slots are first handed out.
    void reset(const slot_geometry& cut) const noexcept {
        for (std::uint32_t i = 0; bytes_ != nullptr && i < cut.capacity; ++i) ::new (bytes_ + i) byte_word{0};
    }

    void set(std::byte* row, std::uint32_t index) const noexcept {
        if (bytes_ == nullptr) count_word(row).store(bit, std::memory_order_release);
        else bytes_[index].store(1, std::memory_order_release);
    }
    bool is_set(std::byte* row, std::uint32_t index) const noexcept { // seq_cst
        return bytes_ == nullptr ? (count_word(row).load() & bit) != 0 : bytes_[index].load() != 0;
    }
    // Removes the mark; false: there was none.
    bool take(std::byte* row, std::uint32_t index) const noexcept {
        if (!is_set(row, index)) return false;
        if (bytes_ == nullptr) count_word(row).store(0, std::memory_order_relaxed);
        else bytes_[index].store(0, std::memory_order_relaxed);
        return true;
    }

  private:
    using byte_word = std::atomic<std::uint8_t>;

    static sys::hidden_ref<std::uint32_t> count_word(std::byte* row) noexcept {
        return sys::hidden_ref<std::uint32_t>(*(reinterpret_cast<std::uint32_t*>(row) - 1));
    }

    byte_word* bytes_; // null: the marks are in count words
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
