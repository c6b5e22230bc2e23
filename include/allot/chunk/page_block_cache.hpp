// The blocks of whole pages that a chunk arena keeps after their release: a few, found again by their number of pages.
//
// Taking and giving pages costs about 150 ns: locks of the arena and of its limit, and the words of the block table.
// A place holds a block's first page and number of pages in one word, so a block is taken by one compare-exchange.
// Invariant: a kept block is free, charged, and `kept` in the block table; all together have at most `budget` pages.
// Cost: 88 bytes. Threads: any; no lock.
// Source: magazines, Bonwick and Adams 2001.
#pragma once

#include <allot/config.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class page_block_cache {
  public:
    explicit page_block_cache(std::size_t budget_pages) noexcept : budget_(budget_pages) {}

    // Whether blocks of this number of pages are kept.
    bool keeps(std::size_t pages) const noexcept { return pages <= budget_ && pages <= most; }

    // Keeps a block. False: no place or no budget is free; take_any() makes room. Requires: keeps(pages).
    bool keep(std::size_t first, std::size_t pages) noexcept {
        if (pages_.fetch_add(pages, std::memory_order_relaxed) + pages <= budget_)
            for (auto& place : places_) {
                std::uint64_t word = place.load(std::memory_order_relaxed);
                if (word == 0 && place.compare_exchange_strong(word, std::uint64_t{first} << bits | pages,
                                                               std::memory_order_release))
                    return true;
            }
        pages_.fetch_sub(pages, std::memory_order_relaxed);
        return false;
    }
    // Takes a block of exactly this number of pages: sets its first page. False: there is none. Requires: pages > 0.
    bool take(std::size_t pages, std::size_t& first) noexcept {
        if (this->pages() != 0)
            for (auto& place : places_)
                if (take_from(place, pages, first)) return true;
        return false;
    }
    // Takes a block of any size, in turn.
    bool take_any(std::size_t& first) noexcept {
        for (std::size_t i = 0; i != places_.size(); ++i)
            if (take_from(places_[turn_.fetch_add(1, std::memory_order_relaxed) % places_.size()], 0, first))
                return true;
        return false;
    }
    // Of all kept blocks.
    std::size_t pages() const noexcept { return pages_.load(std::memory_order_relaxed); }

  private:
    static constexpr unsigned bits = 20; // of the number of pages
    static constexpr std::uint64_t most = (std::uint64_t{1} << bits) - 1;

    // Takes the block of a place if it has this number of pages; 0: any number.
    bool take_from(std::atomic<std::uint64_t>& place, std::size_t pages, std::size_t& first) noexcept {
        std::uint64_t word = place.load(std::memory_order_relaxed);
        do
            if (word == 0 || (pages != 0 && (word & most) != pages)) return false;
        while (!place.compare_exchange_weak(word, 0, std::memory_order_acquire, std::memory_order_relaxed));
        pages_.fetch_sub(word & most, std::memory_order_relaxed);
        first = word >> bits;
        return true;
    }

    const std::size_t budget_;
    std::atomic<std::size_t> pages_{0}, turn_{0};
    std::array<std::atomic<std::uint64_t>, 8> places_{}; // first page << bits | pages; 0: empty
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
