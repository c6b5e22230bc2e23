// live_slots: which slots of a heap held rows when a compaction began. Rows without link counts do not say it
// themselves.
//
//   page 1: | bit per slot, in whole words |   page 2: | ...
//
// Invariant: a bit beyond the last page, or of page 0, is not set.
// Cost: 24 bytes per heap; a bit per slot of host memory from begin() to end(). Threads: one.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

class live_slots {
  public:
    live_slots() = default;
    live_slots(const live_slots&) = delete;
    live_slots& operator=(const live_slots&) = delete;
    ~live_slots() { end(); }

    bool is_known() const noexcept { return words_ != nullptr; }
    // Pages 1 to `pages`, without rows. False: no memory.
    bool begin(std::size_t pages, std::uint32_t slots_of_page) noexcept {
        words_of_page_ = static_cast<std::uint32_t>(ceil_div(slots_of_page, 64U));
        pages_ = pages;
        words_ = new (std::nothrow) std::uint64_t[pages * words_of_page_]();
        return words_ != nullptr;
    }
    void end() noexcept {
        delete[] words_;
        words_ = nullptr;
    }
    // The first n slots of a page hold rows.
    void add(std::uint32_t page, std::uint32_t n) noexcept {
        std::uint32_t slot = 0;
        for (; slot + 64 <= n; slot += 64) word(page, slot) = ~std::uint64_t{0};
        if (slot != n) word(page, slot) = bit(n) - 1;
    }
    void remove(std::uint32_t page, std::uint32_t slot) noexcept {
        if (is_inside(page, slot)) word(page, slot) &= ~bit(slot);
    }
    bool has(std::uint32_t page, std::uint32_t slot) const noexcept {
        return is_inside(page, slot) && (word(page, slot) & bit(slot)) != 0;
    }

  private:
    static constexpr std::uint64_t bit(std::uint32_t slot) noexcept { return std::uint64_t{1} << (slot % 64); }
    bool is_inside(std::uint32_t page, std::uint32_t slot) const noexcept {
        return page != 0 && page <= pages_ && slot / 64 < words_of_page_;
    }
    std::uint64_t& word(std::uint32_t page, std::uint32_t slot) const noexcept {
        return words_[(page - std::size_t{1}) * words_of_page_ + slot / 64];
    }

    std::uint64_t* words_ = nullptr; // null: not known
    std::size_t pages_ = 0;
    std::uint32_t words_of_page_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
