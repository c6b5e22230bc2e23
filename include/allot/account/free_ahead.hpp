// Frees memory that no request of the thread is refused: what a level uses above its watermark; what a reservation
// needs that waits without a thread, once there is news of idle memory or reclaimers for it.
//
//     note_watermarks   at the unlock of a charge: a level at or above the account asks; announce_unused() notes news
//     free_ahead        behind the charge, or what brings the news, where the thread holds no lock: a sweep of each
//                       level at and above the account that asks
//
// A sweep has unused memory of other objects returned, then calls the reclaimers, the lowest cost first, until nothing
// is missing: for a watermark those that help in a shortage which is `ahead`; for a reservation all, and again as long
// as some free memory, and once more in a critical pass. What they free grants it, as any refund does (act_and_unlock).
//
// A level asks for its watermark while its use is above that, at each charge that no credit covers. If a sweep had
// nothing, it asks again once its use has grown by a sixteenth, or was at or below the watermark; but for one under a
// cost cap, which did not ask all. Reservations that wait at one level are asked for one at a time; not by a thread
// under a lower cap than the one that queued it. Under a cap of 0 nobody is asked: that is left to a charge behind it,
// as that of a pin. So is news in a release, or in a call of a user's code. A thread that climbs a ladder leaves both
// to the end of that. It refuses nothing, and never waits: where another sweep of the level runs, or calls a reclaimer,
// that frees anyway, and then looks for news itself.
// Invariant: one sweep of a level at a time. Cost: one test in a charge under the lock, until the tree has a watermark
// or such news; then a look at each level above it. Threads: any; the account outlives the call.
// Source: the watermarks at which Linux frees pages in the background (kswapd, 1996).
#pragma once

#include <allot/account/account_closing.hpp>
#include <allot/account/account_node.hpp>
#include <allot/account/account_numbers.hpp>
#include <allot/account/judge.hpp>
#include <allot/account/reclaimers.hpp>
#include <allot/account/reservation_batch.hpp>
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

// Of the reservations that wait without a thread, that level refuses them, and are wanted, the one that was queued
// under the highest cap, and the first of these: what is in vain for it is so for all. Null: none. Requires the lock.
template <class Wanted> waiter* find_queued(const account_node& at, Wanted wanted) noexcept {
    waiter* found = nullptr;
    for (const tree_node* n = &at; n != nullptr; n = n->parent())
        n->waits().each([&](waiter& w) {
            const bool is_here = w.queued != nullptr && !w.looks && !w.trying && w.at == &at;
            if (is_here && wanted(w) && (found == nullptr || w.most_cost > found->most_cost)) found = &w;
        });
    return found;
}
inline waiter* with_news(const account_node& at) noexcept {
    return find_queued(at, [](const waiter& w) { return w.missed && w.most_cost <= cost_cap::now(); });
}

// The sweep of one level. `by`: the account that was charged, or brought the news.
class level_sweep {
  public:
    level_sweep(const account_node& by, const account_node& at) noexcept
        : by_(by), at_(at), all_(at.tree().reclaimers) {}

    // Returns: whether there is news again.
    bool run() noexcept {
        // Another one frees anyway, and looks for news behind its sweep.
        if (all_.begin_sweep(mine_, at_, at_.shape()) != reclaimers::beginning::begun) return false;
        take_news();
        const bool in_vain = !frees_some();
        all_.end_sweep(mine_, at_.shape());
        {
            const locked_tree scope(at_, leave_drained);
            if (in_vain && !for_queued_ && cost_cap::now() == UINT32_MAX) at_.totals().ask_ahead_later(at_.used());
            waiter* const left = for_queued_ && called_elsewhere_ != nullptr ? first_queued() : nullptr;
            if (left == nullptr) return with_news(at_) != nullptr;
            scope.tree.note_missed(*left); // for the thread of that call
        }
        return all_.wait_for_call(*called_elsewhere_, at_.shape(), 0, nullptr); // or for this one: it has ended
    }

  private:
    static constexpr unsigned most_passes = 64;

    waiter* first_queued() const noexcept {
        return find_queued(at_, [](const waiter& w) { return w.most_cost <= cost_cap::now(); });
    }
    void take_news() noexcept {
        const locked_tree scope(at_, leave_drained);
        while (waiter* const w = with_news(at_)) {
            static_cast<void>(const_cast<tree_node*>(w->in)->waits().take_missed(*w));
            for_queued_ = true;
        }
    }
    // False: nobody had something, though it is missing.
    bool frees_some() noexcept {
        bool any = false;
        for (unsigned passes = 0; passes != most_passes; ++passes) {
            bool some = returns_idle();
            reclaimers::walk costly(all_, at_.shape());
            while (is_missing()) {
                bool frees = false;
                if (!call_next(costly, false, frees)) break;
                if (mine_.at == nullptr) return true;                      // others have gone on
                if (frees) some = true, static_cast<void>(returns_idle()); // what the call left unused
            }
            any = any || some;
            if (!for_queued_ || !is_missing()) break;
            if (!some && std::exchange(critical_, true)) return any;
        }
        return any || !is_missing();
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
    // Under the mutex of the tree's shape. For a watermark the object that charges keeps its own unused memory.
    walk_step wanted(const reclaimer& r, bool idle, const shortage& s) noexcept {
        if (r.cost() > (idle ? reclaimer::idle : s.most_cost)) return walk_step::end;
        const account& home = reclaimers::home_of(r);
        const bool own = idle && s.ahead && &home == &by_.face;
        if ((r.cost() == reclaimer::idle) != idle || own || !is_asked_at(at_, r, home) || !r.helps(s))
            return walk_step::skip;
        if (!idle && !reclaimers::begin_call(r)) return called_elsewhere_ = &r, walk_step::skip;
        return walk_step::call;
    }
    bool is_missing() const noexcept { return shortage_now().missing() != 0; }
    shortage shortage_now() const noexcept {
        judged_thread* const mine = judged_thread_of(by_);
        const std::size_t coming = all_.coming(
            at_.shape(), [&](const reclaimer& r, const account& home) { return is_asked_at(at_, r, home); });
        const locked_tree scope(at_, leave_drained);
        if (!for_queued_)
            return {.why = at_.status(charge_outcome::over_limit, 0, at_.used(), at_.totals().watermark()),
                    .most_cost = cost_cap::now(),
                    .coming = coming,
                    .requester = &by_.face,
                    .task = mine != nullptr ? mine->task() : oom::no_id,
                    .ahead = true};
        const waiter* const w = first_queued();
        return {.why = w != nullptr ? status_of(*w) : charge_status{},
                .most_cost = w != nullptr ? w->most_cost : 0,
                .critical = critical_,
                .coming = coming,
                .requester = &at_.face}; // its own account may end
    }
    // What it is refused now.
    charge_status status_of(const waiter& w) const noexcept {
        const reservation_batch::need_now need = w.reserves->need();
        if (const reservation_change* const c = need.refused)
            return at_.status(charge_outcome::over_limit, c->wanted, c->need().before, at_.totals().limit());
        std::size_t bytes = need.more;
        const tree_node* n = w.reserves->above();
        for (; n != nullptr && n != &at_; n = n->parent()) bytes = passed_on(*n, bytes);
        return at_.status(charge_outcome::over_limit, n != nullptr ? bytes : 0, at_.used(), at_.totals().limit());
    }

    static void let_others_go_on(void* in) noexcept {
        auto& me = *static_cast<level_sweep*>(in);
        if (me.mine_.at != nullptr) me.all_.let_others_go_on(me.mine_, *me.called_, me.at_.shape());
    }

    const account_node &by_, &at_;
    reclaimers& all_;
    reclaimers::sweep mine_;
    const reclaimer* called_ = nullptr;
    bool for_queued_ = false, critical_ = false;
    const reclaimer* called_elsewhere_ = nullptr; // by another sweep: one that may help
};

// The lowest level at and above an account that asks, but for the first `done` ones; it is done then.
inline const account_node* next_that_asks(const account_node& by, unsigned& done) noexcept {
    const locked_tree scope(by, leave_drained);
    account_tree& tree = scope.tree;
    const auto asks = [&](const account_node& at) {
        return at.totals().asks_ahead(at.used()) || (tree.asks_for_queued() && with_news(at) != nullptr);
    };
    unsigned level = 1;
    const tree_node* n = &by;
    for (; n != nullptr && (level <= done || !asks(account_node::of(*n))); n = n->parent()) ++level;
    done = level;
    if (n != nullptr) return &account_node::of(*n);
    const waiter* w = tree.asks_for_queued() ? tree.waits.all.first() : nullptr;
    while (w != nullptr && (w->queued == nullptr || w->looks || !w->missed)) w = tree.waits.all.after(*w);
    return tree.set_asks_for_queued(w != nullptr), nullptr;
}
ALLOT_COLD inline void free_ahead_slowly(const account_node& by) noexcept {
    const bool queued = by.tree().asks_for_queued();
    if ((!queued && !of_this_thread.is_past_watermark) || of_this_thread.ladders != 0 || !user_call::may_free_ahead() ||
        cost_cap::now() == reclaimer::idle)
        return;
    unsigned done = 0;
    constexpr unsigned most = 16; // news of others does not keep the thread
    while (const account_node* const at = next_that_asks(by, done))
        for (unsigned n = 0; n != most && level_sweep{by, *at}.run(); ++n) continue;
    of_this_thread.is_past_watermark = false; // behind all sweeps: each unlock notes it
    if (queued) const locked_tree calls_those_that_look(by);
}
// Behind charges of this account, and news. Requires: the thread holds no lock of allot, and no bytes that are not
// confirmed.
ALLOT_ALWAYS_INLINE void free_ahead(const account_node& by) noexcept {
    if (ALLOT_UNLIKELY(by.tree().frees_ahead())) free_ahead_slowly(by);
}
inline charge_status then_free_ahead(const account_node& by, const charge_status& s) noexcept {
    return free_ahead(by), s;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
