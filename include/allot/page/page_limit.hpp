// How many pages of an arena are taken, and how many are committed, under its limit.
//
// Committed: taken, or free and may hold memory of the system. A range that is usable from the start, unless it is
// preallocated and charged, or has a backing, counts none of them: there the limit bounds taken pages.
// Invariant: pages committed never exceed the limit; the peak counts only takes that succeeded.
// Cost: 64 bytes; an atomic operation per call. Threads: any; admits(), beyond() and take() under the arena's lock.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/min_max.hpp>
#include <allot/page/arena_range.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/shared_level.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class page_limit {
  public:
    // Of a range of `pages` pages; `at`: of the arena.
    page_limit(const arena_range& range, std::size_t pages, std::size_t limit_bytes, shared_level& at) noexcept
        : most_(min(limit_bytes >> range.page_shift, pages)), pages_(pages), at_(at), shift_(range.page_shift),
          halved_(range.halved), is_end_of_range_(limit_bytes >> shift_ > pages && range.out_of_band == nullptr) {}

    bool admits(std::size_t pages) const noexcept {
        const std::size_t taken = taken_.load(std::memory_order_acquire); // pairs with the release in put_back()
        return taken <= most_ && pages <= most_ - taken;
    }
    // By how many pages the committed ones would exceed the limit with `clean` more.
    std::size_t beyond(std::size_t clean) const noexcept {
        const std::size_t all = committed_.load(std::memory_order_relaxed) + clean;
        return clean != 0 && all > most_ ? all - most_ : 0;
    }
    // Requires: admits(pages). `clean`: of them, those that were not committed.
    void take(std::size_t pages, std::size_t clean) noexcept {
        taken_.fetch_add(pages, std::memory_order_relaxed);
        if (clean != 0) committed_.fetch_add(clean, std::memory_order_relaxed);
    }
    // Taken pages are usable, and count in the peak.
    void confirm(std::size_t pages) noexcept {
        const std::size_t now = confirmed_.fetch_add(pages, std::memory_order_relaxed) + pages;
        std::size_t peak = peak_.load(std::memory_order_relaxed);
        while (peak < now && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
        }
    }
    // Usable pages are to be given back; put_back() follows.
    void unconfirm(std::size_t pages) noexcept { confirmed_.fetch_sub(pages, std::memory_order_relaxed); }
    // Taken pages are free. The release orders their last use before the next take that the lower count admits.
    void put_back(std::size_t pages) noexcept {
        taken_.fetch_sub(pages, std::memory_order_seq_cst);
        gave();
    }
    // Free pages are more, or committed ones fewer; behind a full fence.
    void gave() const noexcept { at_.gave(); }
    void commit(std::size_t pages) noexcept { committed_.fetch_add(pages, std::memory_order_relaxed); }
    // Committed pages have returned to the system, or were not committed after all.
    void uncommit(std::size_t pages) noexcept {
        if (pages != 0) committed_.fetch_sub(pages, std::memory_order_relaxed);
    }

    // An arena without a limit ends where its address space does; one in bytes that it was lent has them as its limit.
    ALLOT_OUTLINE_WARM void refuse(memory_request& asked, charge_outcome why, std::size_t pages) const noexcept {
        if (why == charge_outcome::over_limit && is_end_of_range_) why = charge_outcome::no_address_space;
        const std::size_t most = why == charge_outcome::over_limit ? most_ : pages_;
        const std::size_t bytes = pages > SIZE_MAX >> shift_ ? SIZE_MAX : pages << shift_;
        const std::size_t used = why == charge_outcome::over_limit ? max(taken(), committed()) : taken();
        asked.refuse({why, {}, refuser::arena, halved_, nullptr, bytes, used << shift_, most << shift_, name()},
                     why == charge_outcome::no_memory ? nullptr : &at_);
    }

    // In pages.
    std::size_t most() const noexcept { return most_; }
    std::size_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
    std::size_t committed() const noexcept { return committed_.load(std::memory_order_relaxed); }
    bool keeps_none() const noexcept { return committed() <= taken(); }
    // Free, and committed.
    std::size_t kept() const noexcept {
        const std::size_t all = committed();
        return all - min(taken(), all);
    }
    std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
    const char* name() const noexcept { return at_.name(); }
    // Bytes that the range was to have, if the system refused as many; else 0.
    std::size_t wanted() const noexcept { return halved_ == 0 ? 0 : pages_ << shift_ << halved_; }
    // For tests: whether the counts agree with the numbers of pages. No other thread may change them meanwhile.
    bool valid(std::size_t taken, std::size_t committed) const noexcept {
        return taken == taken_.load() && taken == confirmed_.load() && taken <= most_ && peak_.load() >= taken &&
               peak_.load() <= most_ && committed == committed_.load() && committed <= most_;
    }

  private:
    std::atomic<std::size_t> taken_{0};
    std::atomic<std::size_t> confirmed_{0}; // of taken_, those that are usable: a commit under way may still fail
    std::atomic<std::size_t> peak_{0};      // of confirmed_
    std::atomic<std::size_t> committed_{0};
    const std::size_t most_, pages_;
    shared_level& at_;
    const unsigned shift_;
    const std::uint8_t halved_;  // as in arena_range
    const bool is_end_of_range_; // the limit, if there is one, exceeds the range
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
