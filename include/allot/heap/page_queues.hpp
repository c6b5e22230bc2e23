// Where the pages of a heap stand: which have slots to give, and which are empty.
//
//                      enough slots came back            every slot came back
//   in no list ----------------------------> space --.       '--> empties --> collect: given back
//       ^                                            v
//       '---- too few left ---- current <---- ready <'
//
// Invariant: a page is current, ready, on `space`, or has fewer free slots than its threshold; a page whose slots were
// all given back is on `empties`, too. A page on `space` or `empties` stays until the lock's holder has seen it.
// Cost: some 100 bytes a heap. Threads: `count` by any; everything else by the holder of the heap's lock.
// Source: HPCC roxiemem's space list and possibleEmptyPages, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/heap/locked_free_count.hpp>
#include <allot/sync/mpsc_stack.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {

template <class Page> class page_queues {
  public:
    // n slots of the page were given back: `note` when that made it empty, and it may be gone; `owed` when it may have.
    slot_state::change count(Page& p, std::uint32_t n) noexcept {
        const auto change = p.state.add_freed(n, p.threshold, fresh(p));
        if (change.list) space_.push(&p);
        if (change.note) empties_.push(&p);
        return change;
    }
    // The page's held count is to be looked at. True when the page became empty.
    bool flush_or_defer(Page& p) noexcept {
        if (!locked_frees_.has(p)) {
            if (Page* const first = locked_frees_.displaced()) flush(*first);
            locked_frees_.add(p);
            p.state.mark_locked_frees();
        }
        return !p.locked_frees.defer(p.state, p.threshold, fresh(p)) && flush(p);
    }

    // The slots that claim(page) got from the first page that had some; 0 when no page is worth looking at.
    template <class Claim> std::size_t claim(Claim claim) noexcept {
        for (;;) {
            if (const std::size_t got = claim_listed(claim)) return got;
            if (locked_frees_.empty()) return 0;
            flush_all();
        }
    }
    // The last resort before failing: any slot, however few its page has.
    template <class Claim> std::size_t claim_any(Claim claim_one) noexcept {
        for (Page* p = all_.first(); p != nullptr; p = all_.after(*p)) {
            if (p->freed() <= 0 || !p->state.try_list()) continue;
            current_ = p;
            if (const std::size_t got = claim_listed(claim_one)) return got;
        }
        return 0;
    }

    void add(Page& p) noexcept {
        all_.add(p);
        ++size_;
        make_ready(p);
    }
    // Hands empty pages to give(page), which they do not survive. One may stay, if `keep_one`: a heap that swings
    // around one row does not take and give a page each time.
    template <class Give> std::size_t collect(bool keep_one, Give give) noexcept {
        if (!locked_frees_.empty()) flush_all();
        if (empties_.empty()) return 0;
        drain_space();
        std::size_t freed = 0;
        for (Page* p = empties_.take_all(); p != nullptr;) {
            Page* const following = p->empty_link.load(std::memory_order_relaxed);
            if (p->state.empty_or_unnote(fresh(*p))) {
                const bool in_flight = p != current_ && !p->is_ready; // its releaser has yet to push it on space_
                if (keep_one || (in_flight && !p->is_broken())) {
                    keep_one = false;
                    empties_.push(p);
                } else {
                    if (p->is_ready) make_unready(*p);
                    if (p == current_) current_ = nullptr;
                    remove(*p);
                    give(*p);
                    ++freed;
                }
            }
            p = following;
        }
        return freed;
    }
    // Hands all pages to give(page), whatever is in them.
    template <class Give> std::size_t drop(Give give) noexcept {
        space_.take_all();
        empties_.take_all();
        locked_frees_.clear();
        current_ = nullptr;
        ready_.clear();
        const std::size_t dropped = size_;
        while (Page* const p = all_.first()) {
            remove(*p);
            give(*p);
        }
        return dropped;
    }

    std::size_t size() const noexcept { return size_; }
    template <class Visit> void for_each(Visit visit) noexcept {
        for (Page* p = all_.first(); p != nullptr; p = all_.after(*p)) visit(*p);
    }
    // The next page of a walk that goes on where the last one ended, and round and round; there must be one.
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
            if (const std::size_t got = claim(*current_)) return got;
            Page& p = *current_;
            current_ = nullptr;
            if (!p.is_broken() && !p.state.unlist_below(p.threshold)) make_ready(p);
        }
        return 0;
    }
    // Tells the page's state word what was counted under the lock. True when the page became empty.
    bool flush(Page& p) noexcept {
        locked_frees_.remove(p);
        const auto change = p.state.flush_locked(std::exchange(p.locked_frees, {}).slots, p.threshold, fresh(p));
        if (change.list) make_ready(p);
        if (change.note) empties_.push(&p);
        return change.note;
    }
    // The heap is noted already if one is empty now: by who gave slots back and saw that the page owed.
    ALLOT_NOINLINE void flush_all() noexcept {
        locked_frees_.for_each([this](Page& p) { flush(p); });
    }
    void make_ready(Page& p) noexcept {
        p.is_ready = true;
        ready_.add(p);
    }
    void make_unready(Page& p) noexcept {
        p.is_ready = false;
        ready_.remove(p);
    }
    void remove(Page& p) noexcept {
        if (walk_at_ == &p) walk_at_ = all_.after(p);
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
    intrusive_list<Page, &Page::in_ready> ready_; // with slots to give, but for the current one
    intrusive_list<Page, &Page::in_all> all_;
    pages_with_locked_frees<Page> locked_frees_;
    Page* walk_at_ = nullptr; // where the next walk goes on; null: at the first page
    std::size_t size_ = 0;

    alignas(64) mpsc_stack<Page, &Page::space_link> space_; // by releasers
    mpsc_stack<Page, &Page::empty_link> empties_;
};

} // namespace allot::inline ALLOT_ABI
