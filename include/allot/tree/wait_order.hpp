// The order of requests: whether one fits and may go, which waiters are woken, and which requests go behind others.
//
// While the first waiter of a level is due, requests that may wait go behind it, though they fit, but for
//   one of a running reclaimer, or of a task that is rolled back: others wait for it
//   one whose task has memory that the due one waits for: it does not fit beside what waits behind it
//   one whose task is not known, after some time: what it holds is not known either
//   one that an arbiter lets pass, since no task can go on else
// A due patient one holds back patient ones alone. Of two that are due the one at the higher level goes first.
// Cost: a look is O(depth) where no waiter fits. Threads: requires the tree's lock.
#pragma once

#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/request/judge.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/wait_queue.hpp>
#include <allot/sys/thread_context.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/account_tree.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// ---- whether a request fits, and may go--------------------------------------------------------

// Bytes that others try for at and below a level.
inline std::size_t promised_at(const tree_node& level, const waits_of_tree& waits) noexcept {
    std::size_t sum = 0;
    for (const waiter* t = waits.triers.first(); t != nullptr; t = waits.triers.after(*t))
        if (t->by->is_below(level)) sum = sum_or_max(sum, t->needs());
    return sum;
}
// Bytes that reach the level above `n` of a request for `bytes` of `n`: a reservation covers the others.
inline std::size_t passed_on(const tree_node& n, std::size_t bytes) noexcept {
    return n.totals().subtree_charge_with(bytes) - n.totals().subtree_charge();
}
// The level that refuses a request beside what others try for; null: it would fit.
inline const tree_node* refuser_beside(const tree_node* from, std::size_t bytes, const waits_of_tree& waits) noexcept {
    for (const tree_node* n = from; n != nullptr && bytes != 0; n = n->parent()) {
        if (!n->totals().fits(sum_or_max(bytes, promised_at(*n, waits)))) return n;
        bytes = passed_on(*n, bytes);
    }
    return nullptr;
}
// The due waiter that a request must not pass; null: none. `own`: its waiter, if it waits. One that is due at a higher
// level goes before one at a lower level.
ALLOT_OUTLINE_WARM const waiter* due_before(const tree_node* by, std::size_t bytes, bool patient,
                                            const waiter* own) noexcept {
    for (const tree_node* n = by; n != nullptr && bytes != 0; n = n->parent()) {
        const bool goes_first = own != nullptr && own->is_due() && own->in->depth() < n->depth();
        for (const bool of_patient : {false, true}) {
            const waiter* const first = n->waits().first(of_patient);
            if (first != nullptr && first != own && first->is_due() && !goes_first && (patient || !of_patient))
                return first;
        }
        bytes = passed_on(*n, bytes);
    }
    return nullptr;
}
// Whether the due one waits for memory of those that wait behind it, and of `also`: it does not fit beside what their
// tasks have.
inline bool waits_for_those_behind(const waiter& due, const waits_of_tree& waits, const tree_node* also) noexcept {
    const tree_node& level = due.trying ? *due.in : *due.at;
    constexpr unsigned remembered = 16;
    const tree_node* counted[remembered]{};
    std::size_t stuck = 0;
    unsigned n = 0;
    const auto count = [&](const tree_node* of) {
        if (of == nullptr) return;
        for (const tree_node* c : counted)
            if (c == of) return;
        counted[n++ % remembered] = of;
        const tree_node* const at = of->is_below(level) ? of : level.is_below(*of) ? &level : nullptr;
        if (at != nullptr) stuck = sum_or_max(stuck, account_node::of(*at).in_use());
    };
    count(due.holds);
    count(also);
    for (const waiter* w = waits.all.first(); w != nullptr; w = waits.all.after(*w))
        if (!w->trying && w->by->is_below(level)) count(w->holds);
    const std::size_t limit = level.totals().limit();
    return stuck > limit || due.needs() > limit - stuck;
}
// Whether a waiter should try: its request would fit beside what others try for, or can never fit, or is refused by a
// higher level now, whose caches it must have emptied first (widen). A level that refuses for lack of bytes is noted in
// `at`.
ALLOT_OUTLINE_WARM bool should_try(waiter& w, const waits_of_tree& waits) noexcept {
    const account_node& by = account_node::of(*w.by);
    const bool fails_for_good =
        w.reserves != nullptr ? !w.reserves->can_ever_fit() : !by.is_open() || (!w.looks && !by.can_ever_fit(w.bytes));
    if (fails_for_good) return true;
    if (w.short_of != nullptr) return false; // it tries at news
    if (w.looks && w.missed) return true;
    const tree_node *from = &by, *refuser = nullptr; // from: its lowest level, which is charged the bytes
    std::size_t bytes = w.bytes;
    if (w.reserves != nullptr) {
        const reserved_need::needs need = w.reserves->need();
        refuser = need.refuser;
        from = w.reserves->above(), bytes = need.more;
    }
    if (refuser == nullptr) refuser = refuser_beside(from, bytes, waits);
    if (refuser == nullptr && w.also.bytes != 0) refuser = refuser_beside(w.also.account, w.needs(), waits);
    if (refuser != nullptr) {
        w.at = refuser;
    } else {
        const waiter* const due = w.passes ? nullptr : due_before(from, bytes, w.patient, &w);
        if (due == nullptr) return true;
        refuser = due->in;
    }
    return !refuser->is_below(*w.in); // a higher level: it is to widen() its wait
}

// ---- who is woken-----------------------------------------------------------------------------

// Whether this unlock may grant a queued reservation: one, since its callback is next. Else a later one looks again.
inline bool may_grant(account_tree& tree) noexcept {
    tree.looks_at_all = tree.looks_at_all || !tree.may_grant;
    return std::exchange(tree.may_grant, false);
}
inline waiter* choose_at(tree_node& level, account_tree& tree, bool all, waiter* woken) noexcept {
    if (level.waits().empty()) return woken;
    const std::size_t room = level.totals().room(), promised = promised_at(level, tree.waits);
    return level.waits().choose(
        all ? SIZE_MAX : max(room, promised) - promised, tree.waits,
        [&](waiter& w) { return should_try(w, tree.waits) && (w.queued == nullptr || may_grant(tree)); }, woken);
}
// Whether bytes that became free at and above an account serve nobody: known without a look at each that waits.
inline bool serves_nobody(const account_node& at, const account_tree& tree) noexcept {
    if (tree.waits_for_unseen != 0 || undoing::now() != nullptr) return false;
    const tree_node* n = &at;
    while (n != nullptr && n->waits().has_none_for(n->totals().room())) n = n->parent();
    return n == nullptr;
}
inline waiter* choose_from(const account_node& at, account_tree& tree) noexcept {
    waiter* woken = nullptr;
    for (tree_node* n = &const_cast<account_node&>(at); n != nullptr; n = n->parent())
        woken = choose_at(*n, tree, false, woken);
    return woken;
}
inline waiter* choose_of_all(account_tree& tree, waiter* woken) noexcept {
    tree.root().walk([&](tree_node& n) { woken = choose_at(n, tree, true, woken); });
    return woken;
}
// A look ends, or is taken back.
inline void remove_look(waiter& w, account_tree& tree) noexcept {
    w.trying = false;
    const_cast<tree_node*>(w.in)->waits().remove(w);
    tree.remove(w);
    w.in = nullptr;
}
// Signals those that look, in the lock, since the thread that frees memory may hold others. Returns the rest.
inline waiter* signal_looks(waiter* woken, account_tree& tree) noexcept {
    for (waiter** at = &woken; *at != nullptr;) {
        waiter& w = **at;
        if (w.looks) *at = w.next_woken, remove_look(w, tree), w.spot->signal(waiter::try_again);
        else at = &w.next_woken;
    }
    return woken;
}
// One has gone to sleep: where a due one waits for memory of those behind it, the first of these that has some passes.
inline void let_pass_behind(const waiter& slept, account_tree& tree) noexcept {
    for (const tree_node* n = slept.by; n != nullptr; n = n->parent()) {
        const waiter* const due = n->waits().first(false);
        if (due == nullptr || !due->is_due() || due->trying || !waits_for_those_behind(*due, tree.waits, nullptr))
            continue;
        waiter* first = nullptr;
        n->waits().each([&](waiter& w) {
            if (first == nullptr && w.held_back && !w.trying && w.holds != nullptr) first = &w;
        });
        if (first != nullptr) first->passes = true;
    }
}
// Bytes of the account were refunded: counted for a try that returns them, and for those that wait for memory that may
// have been freed unseen before.
inline void note_refund(const account_node& a, std::size_t bytes, account_tree& tree) noexcept {
    if (waiter* const w = undoing::now(); w != nullptr && a.is_below(*w->undone.account))
        w->undone.bytes = sum_or_max(w->undone.bytes, bytes);
    if (tree.waits_for_unseen != 0)
        tree.note_missed([](const waiter& w) { return is_freed_unseen(w.short_of) && !w.undoes; });
}

// ---- requests that go behind others ------------------------------------------------------------------------------

// The calling thread, if the arbiter of the account's root knows it; else null.
ALLOT_OUTLINE_WARM judged_thread* judged_thread_of(const account_node& a) noexcept {
    judge* const by = a.tree().judged.by;
    return by != nullptr ? by->this_thread() : nullptr;
}
// What the memory of the thread's only task is charged to, if that is in the tree of `in`; null: not known.
inline const account_node* memory_of_task(const judged_thread* t, const account_node& in) noexcept {
    const account* const of = t != nullptr ? t->now().memory : nullptr;
    return of != nullptr && &node_of(*of).tree() == &in.tree() ? &node_of(*of) : nullptr;
}
inline bool is_patient(const charge_wait& most) noexcept { return most.wait != nullptr && most.wait->is_patient; }
// A request that fits passes those that wait first at its levels. `own`: its waiter. Requires the lock.
inline void note_passed(const account_node& by, std::size_t bytes, const waiter* own, bool waits = true,
                        bool patient = true) noexcept {
    const auto count = [&](waiter* first, bool of_patient) ALLOT_ALWAYS_INLINE_LAMBDA {
        if (first == nullptr || first == own || first->looks) return;
        ++first->passed;
        if (waits && (patient || !of_patient) && !first->is_due() && ++first->bypasses == waiter::most_bypasses)
            by.tree().note_due();
    };
    for (const tree_node* n = &by; n != nullptr && bytes != 0; n = n->parent()) {
        const wait_queue& here = n->waits();
        if (!here.empty()) count(here.first(false), false), count(here.first(true), true);
        bytes = passed_on(*n, bytes);
    }
}
inline judged_thread* judge_of_wait(const account_node& by, const charge_wait& most) noexcept {
    return most.judged || most.wait != nullptr ? judged_thread_of(by) : nullptr;
}
ALLOT_OUTLINE_WARM bool may_wait(const account_node& by, const charge_wait& most) noexcept {
    return (most.wait != nullptr || judge_of_wait(by, most) != nullptr) && !user_call::is_inside_any();
}
// The due waiter behind which a request that fits goes; null: none, since it may not wait, or passes. Requires the
// lock.
inline const waiter* due_ahead(const account_node& by, std::size_t bytes, const charge_wait& most) noexcept {
    const waiter* const own = of_this_thread.trying;
    if ((own != nullptr && own->passes) || !may_wait(by, most)) return nullptr;
    const waiter* const due = due_before(&by, bytes, is_patient(most), own);
    judged_thread* const mine = judge_of_wait(by, most);
    if (due == nullptr || (mine != nullptr && mine->look() == verdict::roll_back)) return nullptr;
    const account_node* const holds = memory_of_task(mine, by);
    return holds == nullptr || !waits_for_those_behind(*due, by.tree().waits, holds) ? due : nullptr;
}
// The same of a request that is granted next, if there is none.
inline const waiter* goes_behind(const account_node& by, std::size_t bytes, const charge_wait& most) noexcept {
    const bool waits = may_wait(by, most);
    if (waits)
        if (const waiter* const due = due_ahead(by, bytes, most)) return due;
    return note_passed(by, bytes, of_this_thread.trying, waits, is_patient(most)), nullptr;
}
// The same for a waiter without a thread.
inline const waiter* goes_behind(const account_node& by, std::size_t bytes, const waiter& queued) noexcept {
    const waiter* const due = queued.passes ? nullptr : due_before(&by, bytes, true, &queued);
    if (due == nullptr) note_passed(by, bytes, &queued);
    return due;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
