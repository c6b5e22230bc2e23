// Frees memory that no request of the thread is refused: what a level uses above its watermark; what a reservation
// needs that waits without a thread, once there is news of idle memory or reclaimers for it.
//
//     note_watermarks   at the unlock of a charge: a level at or above the account asks; announce_unused() notes news
//                       (account_waiting.hpp)
//     free_ahead        behind the charge, or what brings the news, where the thread holds no lock: a sweep of each
//                       level at and above the account that asks
//
// A sweep is a climb (ladder.hpp) whose attempt looks what is missing. It has unused memory of other objects returned,
// then calls the reclaimers, the lowest cost first, until nothing is missing: for a watermark those that help in a
// shortage which is `ahead`; for a reservation all, and again as long as some free memory, and once more in a critical
// pass. What they free grants it, as any refund does (tree_change.hpp).
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

#include <allot/account/account_life.hpp>
#include <allot/account/account_steps.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/reclaim/shortage.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/reclaimers.hpp>
#include <allot/sys/thread_context.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/account_numbers.hpp>
#include <allot/tree/tree_change.hpp>
#include <allot/tree/wait_order.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

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

// What a queued reservation is refused now. Requires the lock.
inline charge_status status_of(const waiter& w, const account_node& at) noexcept {
    const reserved_need::needs need = w.reserves->need();
    if (need.refuser != nullptr)
        return at.status(charge_outcome::over_limit, need.wanted, need.used, at.totals().limit());
    std::size_t bytes = need.more;
    const tree_node* n = w.reserves->above();
    for (; n != nullptr && n != &at; n = n->parent()) bytes = passed_on(*n, bytes);
    return at.status(charge_outcome::over_limit, n != nullptr ? bytes : 0, at.used(), at.totals().limit());
}
inline waiter* first_queued(const account_node& at) noexcept {
    return find_queued(at, [](const waiter& w) { return w.most_cost <= cost_cap::now(); });
}
// Takes the news for reservations that wait there. False: there is none.
inline bool take_news(const account_node& at) noexcept {
    const locked_tree scope(at);
    bool any = false;
    for (waiter* w = with_news(at); w != nullptr; w = with_news(at), any = true)
        static_cast<void>(const_cast<tree_node*>(w->in)->waits().take_missed(*w));
    return any;
}
// Whether nothing is missing there, with what is coming; else `asked` says how much.
ALLOT_OUTLINE_WARM bool has_ahead(const account_node& at, ahead_goal& goal, memory_request& asked) noexcept {
    const std::size_t coming = at.tree().reclaimers.coming(
        at.shape(), [&](const reclaimer& r, const account& home) { return is_asked_at(at, r, home); });
    const locked_tree scope(at);
    const waiter* const w = goal.for_queued ? first_queued(at) : nullptr;
    goal.most_cost = w != nullptr ? w->most_cost : cost_cap::now();
    asked.why = !goal.for_queued ? at.status(charge_outcome::over_limit, 0, at.used(), at.totals().watermark())
                : w != nullptr   ? status_of(*w, at)
                                 : charge_status{};
    return shortage{.why = asked.why, .coming = coming, .owed = at.tree().owed_below(at)}.missing() == 0;
}
// A sweep of one level. `by`: the account that was charged, or brought the news. Returns: whether there is news again.
inline bool sweep_ahead(const account_node& by, const account_node& at) noexcept {
    ahead_goal goal;
    memory_request asked{0};
    bool in_vain = false;
    {
        account_steps level{by, reclaimer::any};
        // Another one frees anyway, and looks for news behind its sweep.
        if (!level.begin_sweep(at, goal)) return false;
        goal.for_queued = take_news(at);
        bool frees = false; // an attempt follows a step that freed something
        const auto again = [&] { return frees = true, has_ahead(at, goal, asked); };
        no_own_steps none;
        in_vain = !has_ahead(at, goal, asked) && !climb(asked, none, level, attempt_ref{again}) && !frees &&
                  !has_ahead(at, goal, asked);
    }
    {
        const locked_tree scope(at);
        if (in_vain && !goal.for_queued && cost_cap::now() == UINT32_MAX) at.totals().ask_ahead_later(at.used());
        waiter* const left = goal.for_queued && goal.called_elsewhere != nullptr ? first_queued(at) : nullptr;
        if (left == nullptr) return with_news(at) != nullptr;
        scope.tree.note_missed(*left); // for the thread of that call
    }
    return at.tree().reclaimers.wait_for_call(*goal.called_elsewhere, at.shape(), 0, nullptr); // here, if it has ended
}

// The lowest level at and above an account that asks, but for the first `done` ones; it is done then.
inline const account_node* next_that_asks(const account_node& by, unsigned& done) noexcept {
    const locked_tree scope(by);
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
ALLOT_OUTLINE_COLD void free_ahead_slowly(const account_node& by) noexcept {
    const bool queued = by.tree().asks_for_queued();
    if ((!queued && !of_this_thread.is_past_watermark) || of_this_thread.ladders != 0 || !user_call::may_free_ahead() ||
        cost_cap::now() == reclaimer::idle)
        return;
    unsigned done = 0;
    constexpr unsigned most = 16; // news of others does not keep the thread
    while (const account_node* const at = next_that_asks(by, done))
        for (unsigned n = 0; n != most && sweep_ahead(by, *at); ++n) continue;
    of_this_thread.is_past_watermark = false;         // behind all sweeps: each unlock notes it
    if (queued) change_tree(by, [](tree_change&) {}); // calls those that look
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
