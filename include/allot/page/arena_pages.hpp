// The state of an arena's pages, how they become usable memory, and how free ones are returned to the system.
//
//   untouched  free, never committed          clean  free, holds no memory of the system
//   taken      in use, always usable memory   dirty  free, may hold memory of the system
//
// A page is taken under a spin lock; system calls are made outside it, so no thread waits for the call of another one,
// except when the last free pages are being trimmed. The public functions of an arena: arena_base.hpp.
// Invariant: taken pages are usable; taken_ never exceeds limit_pages_; the peak counts only takes that succeeded.
// Cost: 1 bit and 1/64 bit per page for taken, 1 bit for dirty, 1 bit under retain::idle. Threads: any.
#pragma once

#include <allot/account/memory_request.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/page/idle_pages.hpp>
#include <allot/page/page_backing.hpp>
#include <allot/page/page_bitmap.hpp>
#include <allot/page/page_map.hpp>
#include <allot/page/system_pages.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class arena_pages {
  public:
    arena_pages(const arena_pages&) = delete;
    arena_pages& operator=(const arena_pages&) = delete;

    // Documented in arena_base.hpp.
    std::size_t trim() noexcept {
        if (!returns_pages_) return 0;
        std::size_t bytes = 0;
        for (std::size_t w = 0; w < bitmap_.word_count(); ++w)
            while (const std::uint64_t idle = free_and_dirty(w)) {
                if (!return_pages(w, idle, bytes)) return bytes;
                if (backing_ != nullptr) break; // free pages whose unit has a taken page stay
            }
        return bytes;
    }
    ALLOT_NOINLINE std::size_t trim_idle() noexcept {
        std::size_t bytes = 0;
        if (idle_ != nullptr && returns_pages_)
            idle_->step(
                bitmap_.word_count(), [this](std::size_t w) { return free_and_dirty(w); },
                [&](std::size_t w, std::uint64_t pages) { return return_pages(w, pages, bytes); });
        return bytes;
    }

  protected:
    using word = std::atomic<std::uint64_t>;

    arena_pages() = default;
    ~arena_pages() = default;

    std::size_t page_count() const noexcept { return bytes_ >> shift_; }
    std::byte* at(std::size_t page) const noexcept { return begin_ + (page << shift_); }
    std::size_t index(const std::byte* first) const noexcept {
        return static_cast<std::size_t>(first - begin_) >> shift_;
    }
    // Mask of the pages of a word that exist: the last word may have fewer than 64.
    std::uint64_t existing_pages(std::size_t w) const noexcept {
        const std::size_t left = page_count() - w * 64;
        return page_bitmap::run_mask(0, min(left, std::size_t{64}));
    }

    // Requires lock_.
    bool within_limit(std::size_t pages) const noexcept {
        const std::size_t taken = taken_.load(std::memory_order_acquire); // pairs with the release in put_back()
        return taken <= limit_pages_ && pages <= limit_pages_ - taken;
    }
    // Requires lock_. Pages for room behind a run that grows, of `free` ones in front of it: half of those that are not
    // needed for the largest run that the limit allows beside it; without a limit, of half of the range.
    std::size_t room_for(std::size_t pages, std::size_t free) const noexcept {
        const std::size_t others =
            limit_pages_ < page_count() ? limit_pages_ - min(pages, limit_pages_) : page_count() / 2;
        return free > others ? (free - others) / 2 : 0;
    }
    // Requires lock_. A run at the end of the largest free one, but with room behind it.
    std::size_t pick_to_grow(std::size_t pages) noexcept {
        const page_bitmap::free_run gap = bitmap_.largest_free_run();
        if (gap.pages < pages) return page_bitmap::none;
        const std::size_t free = gap.pages - pages, first = gap.first + free - room_for(pages, free);
        return bitmap_.take_at(first, pages) ? first : page_bitmap::none;
    }
    // Requires lock_.
    void count_taken(std::size_t pages) noexcept { taken_.fetch_add(pages, std::memory_order_relaxed); }
    // Takes these pages, which lie beside a taken run; false where one of them is taken, or on lack of memory.
    bool grow(std::size_t first, std::size_t n, memory_request& asked) noexcept {
        {
            const lock_guard hold(lock_);
            if (!within_limit(n)) return refuse(asked, charge_outcome::over_limit, n), false;
            if (!bitmap_.take_at(first, n)) return refuse(asked, charge_outcome::no_address_space, n), false;
            count_taken(n);
        }
        return n == 0 || commit_or_put_back(first, n, true, asked);
    }
    // Takes pages in front of a run, at least new_pages - pages, of which only these are counted; returns how many, 0:
    // the limit, the address space or the system refuses. The others return uncounted, from either end.
    std::size_t slide(std::size_t first, std::size_t pages, std::size_t new_pages, memory_request& asked) noexcept {
        const std::size_t more = new_pages - pages;
        std::size_t by = 0;
        {
            const lock_guard hold(lock_);
            if (!within_limit(more)) return refuse(asked, charge_outcome::over_limit, more), 0;
            const std::size_t free = bitmap_.free_before(first, first);
            if (free < more) return refuse(asked, charge_outcome::no_address_space, more), 0;
            by = more + room_for(new_pages, free - more);
            static_cast<void>(bitmap_.take_at(first - by, by)); // all are free, and the lock is held
            count_taken(more);
        }
        if (is_usable(first - by, by, true)) return confirm(more), by;
        bitmap_.give(first - by, by - more);
        put_back(first - more, more);
        return refuse(asked, charge_outcome::no_memory, more), 0;
    }
    // An arena without a limit ends where its address space does, or the bytes that it was lent.
    ALLOT_COLD void refuse(memory_request& asked, charge_outcome why, std::size_t pages) const noexcept {
        const bool lent = own_metadata_ == nullptr; // their size is its limit
        if (why == charge_outcome::over_limit && range_is_limit_ && !lent) why = charge_outcome::no_address_space;
        const std::size_t most = why == charge_outcome::over_limit ? limit_pages_ : page_count();
        const std::size_t bytes = pages > SIZE_MAX >> shift_ ? SIZE_MAX : pages << shift_;
        const std::size_t taken = taken_.load(std::memory_order_relaxed);
        asked.refuse({why, refuser::arena, nullptr, bytes, taken << shift_, most << shift_, name_});
    }
    // Makes picked pages usable and counts them in the peak; puts them back where the system refuses memory.
    bool commit_or_put_back(std::size_t first, std::size_t n, bool grows, memory_request& asked) noexcept {
        if (ALLOT_LIKELY(is_usable(first, n, grows))) return confirm(n), true;
        put_back(first, n);
        return refuse(asked, charge_outcome::no_memory, n), false;
    }
    bool is_usable(std::size_t first, std::size_t n, bool grows) noexcept {
        return ALLOT_LIKELY(system_.are_usable(first, n)) || commit(first, n, grows) ||
               (under_pressure_ && trim() != 0 && commit(first, n, grows));
    }
    void confirm(std::size_t n) noexcept {
        const std::size_t now = confirmed_.fetch_add(n, std::memory_order_relaxed) + n;
        std::size_t peak = peak_.load(std::memory_order_relaxed);
        while (peak < now && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
        }
    }
    // Marks pages free. The release orders their last use before the next take that the lower count admits.
    void put_back(std::size_t first, std::size_t n) noexcept {
        [[maybe_unused]] const bool were_taken = bitmap_.give(first, n);
        ALLOT_ASSERT(were_taken, "pages were given back to an arena twice: give each page back once");
        taken_.fetch_sub(n, std::memory_order_release);
    }
    void mark_dirty(std::size_t first, std::size_t n) noexcept {
        page_bitmap::for_words(first, n, [&](std::size_t w, std::uint64_t bits) {
            if ((dirty_[w].load(std::memory_order_relaxed) & bits) != bits)
                dirty_[w].fetch_or(bits, std::memory_order_acq_rel);
        });
    }

  private:
    // A backing marks no pages as usable for good, so every take of its pages comes here.
    ALLOT_COLD bool commit(std::size_t first, std::size_t n, bool grows) noexcept {
        return backing_ != nullptr ? backing_->commit(first, n) : system_.commit(first, n, grows);
    }
    std::uint64_t free_and_dirty(std::size_t w) const noexcept {
        return ~bitmap_.taken_in_word(w) & dirty_[w].load(std::memory_order_acquire);
    }
    // Marks free pages as taken while they are returned to the system; false where one of them is taken.
    bool begin_trim(std::size_t first, std::size_t n) noexcept {
        const lock_guard hold(lock_);
        const bool ok = bitmap_.take_at(first, n);
        if (ok) in_trim_ += n;
        return ok;
    }
    void end_trim(std::size_t first, std::size_t n) noexcept {
        const lock_guard hold(lock_);
        bitmap_.give(first, n);
        in_trim_ -= n;
    }
    // Returns the free ones of these pages of a word to the system, with clean neighbours in the same huge OS page, and
    // adds the bytes that were dirty to `bytes`. False where the system refuses.
    bool return_pages(std::size_t w, std::uint64_t pages, std::size_t& bytes) noexcept {
        const std::size_t beside = w ^ 1;
        const bool two_words = backing_ == nullptr && system_.huge_page_is_two_words() && beside * 64 < page_count();
        return return_in_word(w, pages, backing_ == nullptr ? system_.in_huge_pages(pages) : pages, bytes) &&
               (!two_words || return_in_word(beside, 0, ~std::uint64_t{0}, bytes));
    }
    // The same for one word, with those neighbours that are in `in_same`.
    bool return_in_word(std::size_t w, std::uint64_t pages, std::uint64_t in_same, std::size_t& bytes) noexcept {
        const std::uint64_t others = bitmap_.taken_in_word(w) | (dirty_[w].load(std::memory_order_acquire) & ~pages);
        const std::uint64_t idle = backing_ == nullptr ? in_same & ~others : whole_units(w, pages);
        for (std::uint64_t wide = idle & existing_pages(w); wide != 0;) {
            const auto low = static_cast<std::size_t>(std::countr_zero(wide));
            const auto n = static_cast<std::size_t>(std::countr_one(wide >> low));
            const std::uint64_t bits = page_bitmap::run_mask(low, n);
            wide &= ~bits;
            if (!begin_trim(w * 64 + low, n)) continue; // another thread took some of them
            const bool gone =
                backing_ == nullptr ? system_.return_pages(w * 64 + low, n) : backing_->decommit(w * 64 + low, n);
            if (gone) {
                const std::uint64_t was = dirty_[w].fetch_and(~bits, std::memory_order_acq_rel) & bits;
                const std::size_t back = (backing_ != nullptr ? n : static_cast<std::size_t>(std::popcount(was)))
                                         << shift_;
                returned_.fetch_add(back, std::memory_order_relaxed);
                bytes += back;
            }
            end_trim(w * 64 + low, n);
            if (!gone) return false;
        }
        return true;
    }
    // The units of the backing that have some of these pages of a word, and no taken page.
    std::uint64_t whole_units(std::size_t w, std::uint64_t pages) const noexcept {
        const std::size_t each = backing_->pages_per_unit();
        const std::uint64_t taken = bitmap_.taken_in_word(w) & existing_pages(w);
        std::uint64_t whole = 0;
        for (std::size_t at = 0; at < 64; at += each)
            if (const std::uint64_t unit = page_bitmap::run_mask(at, each); (pages & unit) != 0 && (taken & unit) == 0)
                whole |= unit;
        return whole;
    }

  protected:
    // Read by every question about an address: one cache line.
    std::byte* begin_ = nullptr;
    std::size_t bytes_ = 0;
    unsigned shift_ = 20;
    bool returns_pages_ = false;
    bool under_pressure_ = false; // a take that the system refuses trims, and asks again
    bool range_is_limit_ = false; // the limit, if there is one, exceeds the range
    const char* name_ = "";
    const char* page_kind_ = "plain";
    std::size_t limit_pages_ = 0;
    word* dirty_ = nullptr;
    page_owner* owners_ = nullptr;
    std::byte* own_metadata_ = nullptr; // null where the caller lent it
    std::size_t mapping_ = 0;           // bytes to unmap at the end
    std::size_t front_ = 0;             // bytes in front of them to unmap, too: the tables
    idle_pages* idle_ = nullptr;
    std::atomic<std::size_t> returned_{0}; // bytes
    bool headers_out_of_band_ = false;     // the host does not touch the pages
    page_backing* backing_ = nullptr;

    alignas(64) basic_spin_lock<lock_rank::arena> lock_; // for taking pages
    std::size_t in_trim_ = 0;                            // pages between begin_trim() and end_trim(); requires lock_
    page_bitmap bitmap_;
    system_pages system_;

    alignas(64) std::atomic<std::size_t> taken_{0};
    std::atomic<std::size_t> confirmed_{0}; // of taken_, those that are usable: a commit under way may still fail
    std::atomic<std::size_t> peak_{0};      // of confirmed_
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
