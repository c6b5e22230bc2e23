// The pages of a heap by state: the current page, ready pages, pages with space, and empty pages.
//
//                `threshold` slots freed                  every slot freed
//   in no list -------------------------> space --.           '--> empties --> collect(): returned to the arena
//       ^                                         v
//       '---- too few slots left -- current <-- ready
//
// Listed: current, ready, or on space. Locked frees: slots freed under the lock that the page's state word does not
// include yet (locked_free_count.hpp).
// Invariant: a page is current, ready, on `space`, or has fewer freed slots than its threshold; a page with every slot
// freed is on `empties`, too. A page on `space` or `empties` is not returned before the lock's holder has taken it off.
// Cost: some 100 bytes per heap. Threads: count() by any; everything else by the holder of the heap's lock.
// Source: HPCC roxiemem's space list and possibleEmptyPages, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/heap/locked_free_count.hpp>
#include <allot/sync/mpsc_stack.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Page> class page_queues {
  public:
    // Counts n slots freed without the lock. The page may be returned to the arena before this call returns. Note the
    // heap if `note` is set (the page became empty) or `locked_frees` (it may have become empty).
    slot_state::change count(Page& p, std::uint32_t n) noexcept {
        const auto change = p.state.add_freed(n, p.threshold, fresh(p));
        if (change.list) space_.push(&p);
        if (change.note) empties_.push(&p);
        if (change.locked_frees) may_be_due_.exchange(1, std::memory_order_acq_rel); // before the heap is noted
        return change;
    }
    // Call when locked_free_count::add() returned true: flushes the count if that changes a list, or no place is free
    // among the pages with locked frees; else sets the next check. True: the page became empty.
    bool flush_or_defer(Page& p) noexcept {
        if (!locked_frees_.has(p)) {
            const bool full = locked_frees_.is_full();
            if (full && !locked_frees_.count_and_may_displace())
                return list(p, p.state.add_freed(std::exchange(p.locked_frees.slots, 0), p.threshold, fresh(p)));
            if (full)
                flush(*locked_frees_.displaced()); // if it is empty now: the releaser that saw its flag notes the heap
            locked_frees_.add(p);
            p.state.mark_locked_frees();
        }
        return !p.locked_frees.defer(p.state, p.threshold, fresh(p)) && flush(p);
    }

    // Calls claim_from(page) on listed pages until one yields slots; returns their number. If none does, lists a
    // page that is due with its locked frees, and tries again; 0: no page has slots.
    template <class Claim> std::size_t claim(Claim claim_from) noexcept {
        for (;;) {
            if (const std::size_t got = claim_listed(claim_from)) return got;
            if (!flush_due()) return 0;
        }
    }
    // Last resort before a request fails: claims also from pages with fewer freed slots than their threshold. Lists
    // four at a time, for the next claims: first of those with locked frees, then others in turn, so that a full heap
    // finds one soon. 0: no page has slots.
    template <class Claim> ALLOT_ALWAYS_INLINE std::size_t claim_any(Claim claim_from) noexcept {
        constexpr std::size_t batch = 4;
        const std::size_t all = size_;
        std::size_t listed = 0;
        const auto list_if_freed = [&](Page& p) {
            // One that a compaction empties is listed already, and stays: its slots are needed.
            if (p.freed() > 0 && (p.state.try_list() || p.is_emptied.exchange(false, std::memory_order_relaxed)))
                make_ready(p), ++listed;
            return listed == batch;
        };
        locked_frees_.find(list_if_freed, 2 * batch); // which lists them, of as many as it looks at
        for (std::size_t i = 0;; listed = 0) {
            if (listed != batch) {
                Page* at = search_at_; // a copy stays in a register: the walk is long where a heap is full
                while (i != all) {
                    if (at == nullptr) at = all_.first();
                    Page& p = *at;
                    at = all_.after(p);
                    ++i;
                    if (ALLOT_UNLIKELY(p.freed() > 0) && list_if_freed(p)) break;
                }
                search_at_ = at;
            }
            const std::size_t got = claim_listed(claim_from);
            if (got != 0 || i == all) return got;
        }
    }

    void add(Page& p) noexcept {
        all_.add(p);
        ++size_;
        make_ready(p);
    }
    // Removes empty pages and calls give(page), which ends their lifetime. `keep_one`: keeps one page, so that a heap
    // that allocates and releases one row at a page boundary does not take a page each time. Returns: whether another
    // one stays, which its releaser is about to list: nobody notes the heap for it any more.
    template <class Give> bool collect(bool keep_one, Give give) noexcept {
        while (find_due()) continue;
        if (empties_.empty()) return false;
        drain_space(); // no page is returned that a releaser's list names
        bool stays = false;
        for (Page* p = empties_.take_all(); p != nullptr;) {
            Page* const following = p->empty_link.load(std::memory_order_relaxed);
            if (locked_frees_.has(*p)) flush(*p); // it was noted, used again, and may be empty again
            if (p->state.empty_or_unnote(fresh(*p))) {
                // Its releaser has not pushed it on space_ yet. A broken page is on no list, and no releaser lists it.
                const bool in_flight = p != current_ && !p->is_ready && !p->is_broken();
                if (keep_one || in_flight) { // one in flight is kept as well as any other
                    stays = stays || (!keep_one && !p->is_emptied.load(std::memory_order_relaxed));
                    keep_one = false;
                    empties_.push(p);
                } else {
                    if (p->is_ready) make_unready(*p);
                    if (p == current_) current_ = nullptr;
                    remove(*p);
                    give(*p);
                }
            }
            p = following;
        }
        return stays;
    }
    // Removes all pages, live rows included, and calls give(page); returns their number.
    template <class Give> std::size_t drop(Give give) noexcept {
        space_.take_all();
        empties_.take_all();
        current_ = nullptr;
        ready_.clear();
        const std::size_t dropped = size_;
        while (Page* const p = all_.first()) {
            remove(*p);
            give(*p);
        }
        return dropped;
    }

    // ---- compaction -------------------------------------------------------------------------------------------------

    // Chooses the pages to be emptied, so that what has space stays in as few as possible: pages with slots that cannot
    // leave, then the fullest. They are in no list, and marked as listed, so that no releaser lists them: no slot of
    // them is claimed, but by claim_any(), and they are not collected. Returns the pages with slots that cannot leave.
    std::size_t begin_moves(std::uint32_t capacity) noexcept {
        while (find_due()) continue;
        drain_space();
        constexpr std::size_t degrees = 128; // of fullness
        std::size_t pages[degrees + 1] = {}, used = 0, pinned = 0;
        const auto degree_of = [capacity](const Page& p) { return std::size_t{p.marked} * degrees / capacity; };
        for_each([&](Page& p) {
            const std::size_t n = used_of(p);
            used += n;
            if (n != p.marked || p.is_broken()) ++pinned;
            else ++pages[degree_of(p)];
        });
        const std::size_t least = (used + capacity - 1) / capacity;
        std::size_t stay = least > pinned ? least - pinned : 0, degree = degrees;
        while (degree != 0 && stay > pages[degree]) stay -= pages[degree--];
        for_each([&](Page& p) { // of the lowest degree that stays, the first ones
            if (used_of(p) != p.marked || p.is_broken() || degree_of(p) > degree) return;
            if (degree_of(p) == degree && stay != 0) --stay;
            else begin_to_empty(p);
        });
        return pinned;
    }
    // The pages are listed again; those that are empty can be collected.
    void end_moves() noexcept {
        for_each([&](Page& p) {
            p.marked = 0;
            if (p.is_emptied.exchange(false, std::memory_order_relaxed)) make_ready(p);
        });
    }
    // Calls claim_from(page) on pages that stay, from where the last call ended, until one yields slots; 0: none has.
    template <class Claim> std::size_t claim_target(Claim claim_from) noexcept {
        for (std::size_t i = 0; i <= size_; ++i, target_at_ = all_.after(*target_at_)) {
            if (target_at_ == nullptr) target_at_ = all_.first();
            if (target_at_ == nullptr) return 0;
            Page& p = *target_at_;
            if (p.is_emptied.load(std::memory_order_relaxed) || p.is_broken()) continue;
            if (const std::size_t got = claim_from(p)) return got;
        }
        return 0;
    }

    std::size_t size() const noexcept { return size_; }
    template <class Visit> void for_each(Visit visit) noexcept {
        for (Page* p = all_.first(); p != nullptr; p = all_.after(*p)) visit(*p);
    }
    // The next page of a cyclic walk that continues across calls. Requires size() > 0.
    Page& next_of_walk() noexcept {
        if (walk_at_ == nullptr) walk_at_ = all_.first();
        Page& p = *walk_at_;
        walk_at_ = all_.after(p);
        return p;
    }
    // No other thread may use the heap meanwhile.
    bool valid() noexcept {
        std::size_t n = 0;
        for_each([&](Page&) { ++n; });
        for (Page* p = ready_.first(); p != nullptr; p = ready_.after(*p))
            if (!p->is_ready || !p->state.is_listed()) return false;
        return n == size_ && all_.valid() && ready_.valid() &&
               (current_ == nullptr || (current_->state.is_listed() && !current_->is_ready));
    }

  private:
    static std::uint32_t fresh(Page& p) noexcept { return p.fresh.load(std::memory_order_relaxed); }

    template <class Claim> std::size_t claim_listed(Claim claim) noexcept {
        while (current_ != nullptr || next_current()) {
            Page& p = *current_;
            if (const std::size_t got = claim(p)) return got;
            current_ = nullptr;
            if (p.is_broken()) continue; // it yields no slot for good: it counts as listed, so that nobody lists it
            if (p.state.unlist_below(p.threshold)) p.locked_frees.check_next();
            else make_ready(p);
        }
        return 0;
    }
    static std::size_t used_of(const Page& p) noexcept {
        const std::int64_t n = p.used();
        return n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    void begin_to_empty(Page& p) noexcept {
        if (&p == current_) current_ = nullptr;
        else if (p.is_ready) make_unready(p);
        else if (!p.state.try_list()) return; // a releaser is about to list it
        p.is_emptied.store(true, std::memory_order_relaxed);
    }
    // Moves the page's locked frees to its state word. True: the page became empty.
    bool flush(Page& p) noexcept {
        locked_frees_.remove(p);
        return list(p, p.state.flush_locked(std::exchange(p.locked_frees, {}).slots, p.threshold, fresh(p)));
    }
    bool list(Page& p, const slot_state::change& change) noexcept {
        if (change.list) make_ready(p);
        if (change.note) empties_.push(&p);
        return change.note;
    }
    // Flushes a page that is due since other threads released rows of it without the lock. False: none.
    bool flush_due() noexcept {
        if (ALLOT_LIKELY(may_be_due_.load(std::memory_order_relaxed) == 0)) return false;
        return find_due();
    }
    ALLOT_NOINLINE bool find_due() noexcept {
        // Both sides exchange: who does it later sees the other's count, or that the heap is not noted any more.
        if (may_be_due_.exchange(0, std::memory_order_acq_rel) == 0) return false;
        Page* const due =
            locked_frees_.find([](Page& p) { return !p.locked_frees.defer(p.state, p.threshold, fresh(p)); });
        if (due == nullptr) return false;
        may_be_due_.store(1, std::memory_order_relaxed); // there may be more
        flush(*due);
        return true;
    }
    void make_ready(Page& p) noexcept {
        p.is_ready = true;
        ready_.add(p);
    }
    void make_unready(Page& p) noexcept {
        p.is_ready = false;
        ready_.remove(p);
    }
    // Takes the page off all_; the walks' places pass it first. Requires: it is neither current nor ready, nor on
    // space_ or empties_, and its locked frees are flushed or do not matter.
    void remove(Page& p) noexcept {
        if (walk_at_ == &p) walk_at_ = all_.after(p);
        if (search_at_ == &p) search_at_ = all_.after(p);
        if (target_at_ == &p) target_at_ = all_.after(p);
        if (locked_frees_.has(p)) locked_frees_.remove(p);
        all_.remove(p);
        --size_;
    }
    bool next_current() noexcept {
        if (ready_.empty()) drain_space();
        if (ready_.empty()) return false;
        current_ = ready_.first();
        make_unready(*current_);
        return true;
    }
    void drain_space() noexcept {
        for (Page* p = space_.take_all(); p != nullptr;) {
            Page* const following = p->space_link.load(std::memory_order_relaxed);
            make_ready(*p);
            p = following;
        }
    }

    Page* current_ = nullptr;
    intrusive_list<Page, &Page::in_ready> ready_; // listed pages, except the current one
    intrusive_list<Page, &Page::in_all> all_;
    pages_with_locked_frees<Page> locked_frees_;
    Page* walk_at_ = nullptr;   // next page of the walk; null: the first page
    Page* search_at_ = nullptr; // the same of claim_any()
    Page* target_at_ = nullptr; // the same of claim_target()
    std::size_t size_ = 0;

    // For releasers without the lock.
    alignas(64) mpsc_stack<Page, &Page::space_link> space_; // drained under the lock
    mpsc_stack<Page, &Page::empty_link> empties_;
    std::atomic<std::uint8_t> may_be_due_{0}; // a page with locked frees was counted up since find_due() looked
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
