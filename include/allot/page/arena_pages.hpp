// The pages of an arena, by number: which are taken, how they become usable memory, and how free ones are returned.
//
//   untouched  free, never committed          clean  free, holds no memory of the system
//   taken      in use, always usable memory   dirty  free, may hold memory of the system
//
// A page is taken under a spin lock; system calls are made outside it, so no thread waits for the call of another one,
// except when the last free pages are being trimmed.
// Invariant: taken pages are usable; they never exceed the limit.
// Cost: 1 bit and 1/64 bit per page for taken, 1 bit for dirty, 1 bit under retain::idle; 192 bytes. Threads: any.
#pragma once

#include <allot/account/memory_request.hpp>
#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/page/arena_memory.hpp>
#include <allot/page/arena_range.hpp>
#include <allot/page/arena_stats.hpp>
#include <allot/page/idle_pages.hpp>
#include <allot/page/page_backing.hpp>
#include <allot/page/page_bitmap.hpp>
#include <allot/page/page_limit.hpp>
#include <allot/page/system_pages.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Runs that grow have room behind them, where that costs no other request its run.
enum class run_use { fixed, grows };

class arena_pages {
  public:
    static constexpr std::size_t none = page_bitmap::none;

    // The first `pages` pages of a range, which may be none.
    arena_pages(const arena_range& range, std::size_t pages, const arena_tables& tables, std::size_t limit_bytes,
                const char* name) noexcept
        : returns_pages_(range.returns_pages), under_pressure_(range.under_pressure),
          lent_(range.out_of_band != nullptr), system_(range, pages), backing_(range.backing),
          dirty_(reinterpret_cast<word*>(tables.dirty)), idle_(range.idle), limit_(range, pages, limit_bytes, name) {
        bitmap_.start(tables.bitmap, pages);
        if (idle_ != nullptr) idle_->start(tables.idle);
    }
    arena_pages(const arena_pages&) = delete;
    arena_pages& operator=(const arena_pages&) = delete;

    // Takes a run; returns its first page, or none where it is refused. Waits only while the last free pages are being
    // trimmed.
    ALLOT_ALWAYS_INLINE std::size_t take(std::size_t pages, run_use use, memory_request& asked) noexcept {
        if (ALLOT_UNLIKELY(idle_ != nullptr)) trim_idle();
        for (;;) {
            std::size_t first = none;
            {
                const lock_guard hold(lock_);
                if (ALLOT_UNLIKELY(pages == 0 || !limit_.admits(pages)))
                    return refuse(asked, pages == 0 ? charge_outcome::misused : charge_outcome::over_limit, pages),
                           none;
                first = use == run_use::grows ? pick_to_grow(pages)
                        : pages == 1          ? bitmap_.take_one()
                                              : bitmap_.take_run(pages);
                if (first != none) limit_.take(pages);
                else if (in_trim_ == 0) return refuse(asked, charge_outcome::no_address_space, pages), none;
            }
            if (first != none) return commit_or_put_back(first, pages, use == run_use::grows, asked) ? first : none;
            yield(); // the pages that are being trimmed become free again
        }
    }
    // Takes these pages, which lie behind a taken run; false where one of them is taken, or on lack of memory.
    bool take_at(std::size_t first, std::size_t n, memory_request& asked) noexcept {
        {
            const lock_guard hold(lock_);
            if (!limit_.admits(n)) return refuse(asked, charge_outcome::over_limit, n), false;
            if (!bitmap_.take_at(first, n)) return refuse(asked, charge_outcome::no_address_space, n), false;
            limit_.take(n);
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
            if (!limit_.admits(more)) return refuse(asked, charge_outcome::over_limit, more), 0;
            const std::size_t free = bitmap_.free_before(first, first);
            if (free < more) return refuse(asked, charge_outcome::no_address_space, more), 0;
            by = more + room_for(new_pages, free - more);
            static_cast<void>(bitmap_.take_at(first - by, by)); // all are free, and the lock is held
            limit_.take(more);
        }
        if (is_usable(first - by, by, true)) return limit_.confirm(more), by;
        bitmap_.give(first - by, by - more);
        put_back(first - more, more);
        return refuse(asked, charge_outcome::no_memory, more), 0;
    }
    // Never waits, makes no system call.
    ALLOT_ALWAYS_INLINE void give(std::size_t first, std::size_t n) noexcept {
        mark_dirty(first, n);
        if (ALLOT_UNLIKELY(idle_ != nullptr)) idle_->used(first, n);
        limit_.unconfirm(n);
        put_back(first, n);
    }
    void give_uncounted(std::size_t first, std::size_t n) noexcept {
        mark_dirty(first, n);
        bitmap_.give(first, n);
    }

    // Returns free pages to the system; in bytes, up to its first refusal.
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
    // A step of retain::idle. The same.
    ALLOT_NOINLINE std::size_t trim_idle() noexcept {
        std::size_t bytes = 0;
        if (idle_ != nullptr && returns_pages_)
            idle_->step(
                bitmap_.word_count(), [this](std::size_t w) { return free_and_dirty(w); },
                [&](std::size_t w, std::uint64_t pages) { return return_pages(w, pages, bytes); });
        return bytes;
    }
    // The state of retain::idle; null: another rule.
    idle_pages* idle() const noexcept { return idle_; }

    bool is_taken(std::size_t page) const noexcept { return bitmap_.is_taken(page); }
    page_state state_of(std::size_t page) const noexcept {
        if (bitmap_.is_taken(page)) return page_state::taken;
        if (is_dirty(page)) return page_state::dirty;
        return system_.are_usable(page, 1) ? page_state::clean : page_state::untouched;
    }
    // Whether a taken page may hold bytes of an earlier use. False: it holds zeros.
    bool was_used(std::size_t page) const noexcept { return lent_ || is_dirty(page); }
    bool are_locked() const noexcept { return system_.are_locked(); }
    const page_limit& limit() const noexcept { return limit_; }
    std::size_t largest_free_run() const noexcept { return bitmap_.largest_free_run().pages; }
    // In bytes, as the next three.
    std::size_t committed() const noexcept {
        if (backing_ != nullptr) return backing_->committed_bytes();
        std::size_t used = 0;
        for (std::size_t w = 0; w < bitmap_.word_count(); ++w)
            used += static_cast<std::size_t>(std::popcount(taken_pages(w) | dirty_[w].load()));
        return system_.bytes_of(used);
    }
    std::size_t returned() const noexcept { return returned_.load(std::memory_order_relaxed); }
    std::size_t resident() const noexcept {
        return backing_ != nullptr ? backing_->committed_bytes() : system_.resident();
    }
    // For tests. No other thread may use the arena meanwhile.
    bool valid() const noexcept {
        std::size_t taken = 0;
        for (std::size_t w = 0; w < bitmap_.word_count(); ++w)
            taken += static_cast<std::size_t>(std::popcount(taken_pages(w)));
        return limit_.valid(taken) && bitmap_.valid();
    }

  private:
    using word = std::atomic<std::uint64_t>;

    bool is_dirty(std::size_t page) const noexcept {
        return (dirty_[page / 64].load(std::memory_order_relaxed) >> page % 64 & 1) != 0;
    }
    // Mask of the pages of a word that exist: the last word may have fewer than 64.
    std::uint64_t existing_pages(std::size_t w) const noexcept {
        return page_bitmap::run_mask(0, min(bitmap_.pages() - w * 64, std::size_t{64}));
    }
    std::uint64_t taken_pages(std::size_t w) const noexcept { return bitmap_.taken_in_word(w) & existing_pages(w); }

    // Requires lock_. Pages for room behind a run that grows, of `free` ones in front of it: half of those that are not
    // needed for the largest run that the limit allows beside it; without a limit, of half of the range.
    std::size_t room_for(std::size_t pages, std::size_t free) const noexcept {
        const std::size_t most = limit_.most();
        const std::size_t others = most < bitmap_.pages() ? most - min(pages, most) : bitmap_.pages() / 2;
        return free > others ? (free - others) / 2 : 0;
    }
    // Requires lock_. A run at the end of the largest free one, but with room behind it.
    std::size_t pick_to_grow(std::size_t pages) noexcept {
        const page_bitmap::free_run gap = bitmap_.largest_free_run();
        if (gap.pages < pages) return none;
        const std::size_t free = gap.pages - pages, first = gap.first + free - room_for(pages, free);
        return bitmap_.take_at(first, pages) ? first : none;
    }
    ALLOT_COLD void refuse(memory_request& asked, charge_outcome why, std::size_t pages) const noexcept {
        limit_.refuse(asked, why, pages);
    }
    // Makes picked pages usable and counts them in the peak; puts them back where the system refuses memory.
    bool commit_or_put_back(std::size_t first, std::size_t n, bool grows, memory_request& asked) noexcept {
        if (ALLOT_LIKELY(is_usable(first, n, grows))) return limit_.confirm(n), true;
        put_back(first, n);
        return refuse(asked, charge_outcome::no_memory, n), false;
    }
    bool is_usable(std::size_t first, std::size_t n, bool grows) noexcept {
        return ALLOT_LIKELY(system_.are_usable(first, n)) || commit(first, n, grows) ||
               (under_pressure_ && trim() != 0 && commit(first, n, grows));
    }
    // Marks pages free.
    void put_back(std::size_t first, std::size_t n) noexcept {
        [[maybe_unused]] const bool were_taken = bitmap_.give(first, n);
        ALLOT_ASSERT(were_taken, "pages were given back to an arena twice: give each page back once");
        limit_.put_back(n);
    }
    void mark_dirty(std::size_t first, std::size_t n) noexcept {
        page_bitmap::for_words(first, n, [&](std::size_t w, std::uint64_t bits) {
            if ((dirty_[w].load(std::memory_order_relaxed) & bits) != bits)
                dirty_[w].fetch_or(bits, std::memory_order_acq_rel);
        });
    }
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
        const bool two_words = backing_ == nullptr && system_.huge_page_is_two_words() && beside * 64 < bitmap_.pages();
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
                const std::size_t back =
                    system_.bytes_of(backing_ != nullptr ? n : static_cast<std::size_t>(std::popcount(was)));
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
        const std::uint64_t taken = taken_pages(w);
        std::uint64_t whole = 0;
        for (std::size_t at = 0; at < 64; at += each)
            if (const std::uint64_t unit = page_bitmap::run_mask(at, each); (pages & unit) != 0 && (taken & unit) == 0)
                whole |= unit;
        return whole;
    }

    basic_spin_lock<lock_rank::arena> lock_; // for taking pages
    const bool returns_pages_;
    const bool under_pressure_; // a take that the system refuses trims, and asks again
    const bool lent_;
    std::size_t in_trim_ = 0; // pages between begin_trim() and end_trim(); requires lock_
    page_bitmap bitmap_;

    system_pages system_;
    page_backing* const backing_;
    word* const dirty_;
    idle_pages* const idle_;

    alignas(64) page_limit limit_;
    std::atomic<std::size_t> returned_{0}; // bytes
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
