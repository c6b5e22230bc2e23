// Commits an arena's pages from both ends, returns them to the system, and knows which are usable.
//
//   | committed, low --> |   reserved only   | <-- high, committed |
//
// A commit step grows with what is committed. Huge OS pages are asked for beyond the first and last 16 MiB, where they
// do not inflate a small arena; the system fills them whole, so they are returned whole. Where committed pages are
// charged, they come by the unit, a whole huge OS page, and only where all of it is charged (arena_pages.hpp):
//
//   fill()        of a unit that its first page is taken of: asks, touches it, asks for none again
//   ask_later()   of the whole units of a run, which the system fills when they are touched: asks
//   ask_none()    before a part of such a unit is free, or returns: else the system would fill it again
//
// Each ask_later() may split the mapping; after a few, one call asks for none in the whole range, which joins its
// parts. Preallocated huge OS pages are charged by the unit. Pages to be locked are locked when they are committed.
// Invariant: pages below `low` and from `high` on are usable, also after they were returned; the marks only move
// towards each other.
// Cost: 64 bytes; two loads to ask, one or two system calls to commit. Threads: any; several may commit the same pages,
// which is harmless; pages are returned by the thread that has marked them taken. Source: snmalloc's ranges, 2019.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/page/arena_range.hpp>
#include <allot/page/page_bitmap.hpp>
#include <allot/sys/map.hpp>
#include <allot/sys/poison.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class system_pages {
  public:
    system_pages(const arena_range& range, std::size_t pages) noexcept
        : low_(range.committed ? pages : 0), high_(pages), begin_(range.begin), pages_(pages), shift_(range.page_shift),
          wants_lock_(range.lock), huge_(range.transparent_huge), preallocated_(range.preallocated != 0),
          unit_((preallocated_ ? range.preallocated : huge_page) >> shift_),
          from_(range.advised || preallocated_ ? 0 : huge_from >> shift_) {
        if (range.mapping != 0) mapping_ = range.begin - range.front, mapped_ = range.front + range.mapping;
    }

    // Pages below low() and from high() on are committed, or were.
    std::size_t low() const noexcept { return low_.load(std::memory_order_acquire); }
    std::size_t high() const noexcept { return high_.load(std::memory_order_acquire); }
    bool are_usable(std::size_t first, std::size_t n) const noexcept {
        return first + n <= low_.load(std::memory_order_acquire) || first >= high_.load(std::memory_order_acquire);
    }
    // `grows`: for a run that grows, which is written at once, and where huge OS pages are slow has none. False where
    // the system refuses; the marks have not moved.
    ALLOT_OUTLINE_WARM bool commit(std::size_t first, std::size_t n, bool grows) noexcept {
        const std::size_t low = low_.load(std::memory_order_acquire);
        const std::size_t high = high_.load(std::memory_order_acquire);
        const std::size_t step = clamp<std::size_t>((low + pages_ - high) / 4, 1, huge_from >> shift_);
        const bool upward = first <= low || first - low < high - min(high, first + n); // from the nearer mark
        std::size_t from = upward ? min(low, first) : first;
        std::size_t to = upward ? min(max(first + n, low + step), max(high, first + n)) : max(high, first + n);
        if (!upward) from -= min(step, from > low ? from - low : 0);
        if (!sys::commit(at(from), (to - from) << shift_)) {
            from = upward ? min(low, first) : first;
            to = upward ? first + n : max(high, first + n);
            if (!sys::commit(at(from), (to - from) << shift_)) return false;
        }
        if (huge_ && !by_unit_ && !(grows && sys::host_takes_free_memory())) advise_huge(from, to, upward);
        if (wants_lock_ && !sys::lock(at(from), (to - from) << shift_))
            lock_refused_.store(true, std::memory_order_relaxed);
        auto& mark = upward ? low_ : high_;
        std::size_t was = mark.load(std::memory_order_relaxed);
        const std::size_t now = upward ? to : from;
        while ((upward ? was < now : was > now) && !mark.compare_exchange_weak(was, now, std::memory_order_acq_rel)) {
        }
        return true;
    }
    // Requires that the caller has marked the pages taken. False where the system refuses.
    bool return_pages(std::size_t first, std::size_t n) noexcept {
        return sys::decommit(at(first), n << shift_, wants_lock_);
    }
    // Whether the next pages from the lower end are in no huge OS page that is asked for by the unit.
    bool is_plain_at_low() const noexcept { return !by_unit_ || low() < from_; }
    // Whether a huge OS page has the pages of two words, 2 w and 2 w + 1: pages of 16 KiB.
    bool huge_page_is_two_words() const noexcept { return huge_ && huge_page >> shift_ > 64; }
    // These pages of a word, and all others of it in the same huge OS pages.
    std::uint64_t in_huge_pages(std::uint64_t pages) const noexcept {
        const std::size_t each = clamp(huge_page >> shift_, std::size_t{1}, std::size_t{64});
        std::uint64_t wide = pages;
        for (std::size_t at = 0; at < 64 && each > 1; at += each)
            if (const std::uint64_t unit = page_bitmap::run_mask(at, each); (pages & unit) != 0) wide |= unit;
        return wide;
    }

    // Huge OS pages are asked for by the unit from now on; preallocated ones are there.
    void ask_by_unit() noexcept {
        by_unit_ = (huge_ || preallocated_) && unit_ > 1 &&
                   is_aligned(reinterpret_cast<std::uintptr_t>(begin_), unit_ << shift_);
        if (huge_ && from_ == 0) sys::advise_no_huge(mapping_, mapped_); // it was asked for all
    }
    bool are_preallocated() const noexcept { return preallocated_; }
    bool asks_by_unit() const noexcept { return by_unit_; }
    // For a run that ends there: one in the pages of the lower end has no huge OS page.
    bool asks_by_unit(std::size_t end) const noexcept { return by_unit_ && end > from_; }
    // Pages of a unit. The units begin at multiples of it.
    std::size_t unit() const noexcept { return unit_; }
    // Whether a unit may be a huge OS page.
    bool may_be_huge(std::size_t first) const noexcept {
        return first >= from_ && first + unit_ <= pages_ - min(from_, pages_);
    }
    // Makes a unit a huge OS page now, if the system has one. Requires: all its pages are clean, usable, charged, and
    // marked taken by the caller.
    void fill(std::size_t first) noexcept {
        asked_.fetch_add(1, std::memory_order_seq_cst);
        if (constexpr unsigned char zero = 0; sys::advise_huge(at(first), unit_ << shift_))
            sys::write_poisoned(at(first), &zero, 1); // touched: it may be of a page that was given
        if (sys::advise_no_huge(at(first), unit_ << shift_)) asked_.fetch_sub(1, std::memory_order_seq_cst);
        else answered_.fetch_add(1, std::memory_order_release);
    }
    // The system may make huge OS pages of these units. Requires: all their pages are charged, and marked taken by the
    // caller.
    void ask_later(std::size_t first, std::size_t end) noexcept {
        if (first >= end) return;
        if (asked_.fetch_add(1, std::memory_order_seq_cst) >= most_asked) static_cast<void>(ask_none_anywhere());
        sys::advise_huge(at(first), (end - first) << shift_);
        answered_.fetch_add(1, std::memory_order_release);
    }
    // The system makes no huge OS page of this unit any more. False: it may, and none of it may be free or return.
    bool ask_none(std::size_t first) noexcept {
        return asked_.load(std::memory_order_seq_cst) == 0 || sys::advise_no_huge(at(first), unit_ << shift_) ||
               ask_none_anywhere();
    }

    // Whether the policy asks for locking, and the system never refused it.
    bool are_locked() const noexcept { return wants_lock_ && !lock_refused_.load(std::memory_order_relaxed); }
    std::byte* at(std::size_t page) const noexcept { return begin_ + (page << shift_); }
    std::size_t bytes_of(std::size_t pages) const noexcept { return pages << shift_; }
    unsigned shift() const noexcept { return shift_; }
    // Bytes in memory, by the system's count. Walks over the committed ranges.
    std::size_t resident() const noexcept {
        const std::size_t low = low_.load(), rest = max(low, high_.load()); // the two ranges may touch
        return sys::resident_bytes(begin_, low << shift_) + sys::resident_bytes(at(rest), (pages_ - rest) << shift_);
    }

  private:
    static constexpr std::size_t huge_from = std::size_t{16} << 20; // from either end
    static constexpr std::size_t huge_page = std::size_t{2} << 20;  // the smallest size of a huge OS page
    static constexpr std::uint32_t most_asked = 4;                  // each makes two mappings more, at most

    // One call for the whole mapping, which no limit of mappings refuses. Those that are under way stay counted.
    bool ask_none_anywhere() noexcept {
        const std::uint32_t n = answered_.exchange(0, std::memory_order_acq_rel);
        const bool is_done = sys::advise_no_huge(mapping_, mapped_);
        (is_done ? asked_ : answered_).fetch_add(is_done ? 0 - n : n, std::memory_order_seq_cst);
        return is_done;
    }
    void advise_huge(std::size_t from, std::size_t to, bool upward) noexcept {
        const std::size_t plain = huge_from >> shift_;
        if (upward) from = max(from, plain);
        else to = min(to, pages_ - min(pages_, plain));
        if (from < to) sys::advise_huge(at(from), (to - from) << shift_);
    }

    std::atomic<std::size_t> low_;
    std::atomic<std::size_t> high_;
    std::byte* const begin_;
    std::byte* mapping_ = nullptr; // that the range is in; null: it is not the arena's own
    std::size_t mapped_ = 0;       // bytes of it
    const std::size_t pages_;
    const unsigned shift_;
    const bool wants_lock_;
    const bool huge_;
    const bool preallocated_;
    const std::size_t unit_; // pages of a huge OS page
    const std::size_t from_; // pages at either end without huge OS pages
    bool by_unit_ = false;
    std::atomic<bool> lock_refused_{false};
    // Units, or runs of them, of which the system may make huge OS pages; those of them whose advice has been given.
    std::atomic<std::uint32_t> asked_{0}, answered_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
