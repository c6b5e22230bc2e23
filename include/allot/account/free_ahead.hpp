// Frees memory ahead of need: where a charge makes an account use more than its watermark, the excess.
//
//     note_watermarks   at the unlock of the charge: a level at or above the account asks
//     free_ahead        behind the charge, where the thread holds no lock: a sweep of each level that asks
//
// A sweep has unused memory of other objects returned, then calls the reclaimers that help in a shortage which is
// `ahead`, the lowest cost first, until the excess is freed or announced.
//
// A level asks while its use is above the watermark, at each charge that no credit covers. If a sweep had nothing, it
// asks again once its use has grown by a sixteenth, or was at or below the watermark; but for one under a cost cap,
// which did not ask all. Under a cap of 0 nobody is asked: that is left to a charge behind it, as that of a pin. It
// refuses nothing, and never waits: where another sweep of the level runs, or calls a reclaimer, that frees anyway. A
// thread that climbs a ladder leaves it to the end of that; one in a call of a user's code, to its next charge.
// Invariant: one sweep of a level at a time. Cost: one test in a charge under the lock, until the tree has a watermark;
// then a look at each level above it. Threads: the charge's own.
// Source: the watermarks at which Linux frees pages in the background (kswapd, 1996).
#pragma once

#include <allot/account/account_closing.hpp>
#include <allot/account/account_node.hpp>
#include <allot/account/account_numbers.hpp>
#include <allot/account/judge.hpp>
#include <allot/account/reclaimers.hpp>
#include <allot/account/wait_order.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/reclaim/shortage.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/sys/thread_context.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Looks for levels that ask, for this thread's free_ahead(). Requires the lock.
ALLOT_COLD inline void note_watermarks(const tree_node& from) noexcept {
    for (const tree_node* n = &from; n != nullptr; n = n->parent())
        if (n->totals().asks_ahead(n->used())) of_this_thread.is_past_watermark = true;
}

// The sweep of one level. `by`: the account that was charged.
class ahead_sweep {
  public:
    ahead_sweep(const account_node& by, const account_node& at) noexcept
        : by_(by), at_(at), all_(at.tree().reclaimers) {}

    void run() noexcept {
        if (all_.begin_sweep(mine_, at_, at_.shape()) != reclaimers::beginning::begun) return; // that one frees anyway
        const bool in_vain = !frees_some();
        all_.end_sweep(mine_, at_.shape());
        const locked_tree scope(at_, leave_drained);
        if (in_vain && cost_cap::now() == UINT32_MAX) at_.totals().ask_ahead_later(at_.used());
    }

  private:
    // False: nobody had something, though it is missing.
    bool frees_some() noexcept {
        bool some = returns_idle();
        reclaimers::walk costly(all_, at_.shape());
        while (is_missing()) {
            bool frees = false;
            if (!call_next(costly, false, frees)) return some;
            if (mine_.at == nullptr) return true;                      // others have gone on
            if (frees) some = true, static_cast<void>(returns_idle()); // what the call left unused
        }
        return true;
    }
    bool returns_idle() noexcept {
        reclaimers::walk idle(all_, at_.shape());
        bool some = false;
        while (is_missing() && call_next(idle, true, some)) {
        }
        return some;
    }
    // Calls the next one of the walk; false: there is none. `frees`: whether it freed something, or has begun to.
    bool call_next(reclaimers::walk& of, bool idle, bool& frees) noexcept {
        shortage s = shortage_now();
        reclaimer* const it = of.next([&](const reclaimer& r) { return wanted(r, idle, s); });
        if (it == nullptr) return false;
        if (!idle) called_ = it, s.leave = &let_others_go_on, s.sweep = this;
        const std::size_t before = used(at_), counted = it->freed(), announced = it->coming();
        const bool some = reclaimers::call(*it, s);
        const std::size_t after = used(at_), arrived = it->freed() - counted; // meanwhile
        if (after + arrived < before) reclaimers::credit(*it, before - after - arrived);
        frees = frees || some || after < before || it->coming() > announced;
        if (!idle && mine_.at != nullptr) all_.end_call(*it, at_.shape());
        return true;
    }
    // Under the mutex of the tree's shape. The object that charges keeps its own unused memory.
    walk_step wanted(const reclaimer& r, bool idle, const shortage& s) const noexcept {
        if (r.cost() > (idle ? reclaimer::idle : s.most_cost)) return walk_step::end;
        const account& home = reclaimers::home_of(r);
        const bool own = idle && &home == &by_.face;
        if ((r.cost() == reclaimer::idle) != idle || own || !is_asked_at(at_, r, home) || !r.helps(s))
            return walk_step::skip;
        return idle || reclaimers::begin_call(r) ? walk_step::call : walk_step::skip;
    }
    bool is_missing() const noexcept { return shortage_now().missing() != 0; }
    shortage shortage_now() const noexcept {
        judged_thread* const mine = judged_thread_of(by_);
        const std::size_t coming = all_.coming(
            at_.shape(), [&](const reclaimer& r, const account& home) { return is_asked_at(at_, r, home); });
        const locked_tree scope(at_, leave_drained);
        return {.why = at_.status(charge_outcome::over_limit, 0, at_.used(), at_.totals().watermark()),
                .most_cost = cost_cap::now(),
                .coming = coming,
                .requester = &by_.face,
                .task = mine != nullptr ? mine->task() : oom::no_id,
                .ahead = true};
    }

    static void let_others_go_on(void* in) noexcept {
        auto& me = *static_cast<ahead_sweep*>(in);
        if (me.mine_.at != nullptr) me.all_.let_others_go_on(me.mine_, *me.called_, me.at_.shape());
    }

    const account_node &by_, &at_;
    reclaimers& all_;
    reclaimers::sweep mine_;
    const reclaimer* called_ = nullptr;
};

// The lowest level at and above an account that asks, but for the first `done` ones; it is done then.
inline const account_node* next_that_asks(const account_node& by, unsigned& done) noexcept {
    const locked_tree scope(by, leave_drained);
    unsigned level = 1;
    const tree_node* n = &by;
    for (; n != nullptr && (level <= done || !n->totals().asks_ahead(n->used())); n = n->parent()) ++level;
    done = level;
    return n != nullptr ? &account_node::of(*n) : nullptr;
}
ALLOT_COLD inline void free_ahead_slowly(const account_node& by) noexcept {
    if (!of_this_thread.is_past_watermark || of_this_thread.ladders != 0 || user_call::is_inside_any() ||
        cost_cap::now() == reclaimer::idle)
        return;
    unsigned done = 0;
    while (const account_node* const at = next_that_asks(by, done)) ahead_sweep{by, *at}.run();
    of_this_thread.is_past_watermark = false; // last: each unlock notes it
}
// Behind charges of this account. Requires: the thread holds no lock of allot, and no bytes that are not confirmed.
ALLOT_ALWAYS_INLINE void free_ahead(const account_node& by) noexcept {
    if (ALLOT_UNLIKELY(by.tree().has_watermarks())) free_ahead_slowly(by);
}
inline charge_status then_free_ahead(const account_node& by, const charge_status& s) noexcept {
    return free_ahead(by), s;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
