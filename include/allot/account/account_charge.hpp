// Charges, refunds and holds of an account that its own credit does not cover.
//
//   charge, try_charge, force_charge
//     leaf_credit::take                  one compare-and-swap, if the credit covers the bytes
//     charge_slow                        after() or refused() of listeners last, with no lock held
//       charge_locked                    takes the tree's lock, which settles deferred refunds (tree_lock.hpp)
//         tree_node::check_levels        leaf to root, changes nothing; finds the level that limits the request
//         charge_request::retry          before a refusal: recalls credit, waits for held bytes
//     climb                              a refused request is made again, step by step (ladder.hpp)
//         tree_node::grant               changes every level up to the root
//     free_ahead                         past a watermark (free_ahead.hpp)
//   charge_for                           waits while a limit refuses (account_waiting.hpp)
//   refund
//     leaf_credit::give                  one compare-and-swap, if the credit may grow
//     refund_slow -> refund_locked       tree_node::refund, then settle(); released() of listeners last
//       defer_refund                     if the lock is taken: its next holder settles the refund
#pragma once

#include <allot/account/account_closing.hpp>
#include <allot/account/account_node.hpp>
#include <allot/account/account_steps.hpp>
#include <allot/account/charge_request.hpp>
#include <allot/account/free_ahead.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/core/min_max.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/lock_guard.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// ---- charge ------------------------------------------------------------------------------------------------------

inline void log_event(account_node& a, const char* what, std::size_t bytes) noexcept {
    account_log* const to = a.log();
    if (ALLOT_UNLIKELY(to != nullptr)) to->record(what, bytes, used(a));
}
// Counts a forced charge beyond a limit, and closes the credit of the leaves below that limit.
inline void charged_beyond(account_node& a, const tree_node::limit_check& found) noexcept {
    found.at->totals().count_beyond();
    a.tree().was_exceeded.store(true, std::memory_order_relaxed);
    a.tree().close_credits_where_exceeded(a);
}
// A request that would fit goes behind the one that is due. Requires the lock.
ALLOT_COLD inline charge_status status_behind(const waiter& due, std::size_t bytes) noexcept {
    return account_node::of(*due.in).refused(charge_outcome::held_back, bytes);
}
// One attempt; it takes the lock. Each check and its grant share one hold; retry() may release it between two rounds. A
// forced charge beyond a limit is made, and its status says so.
inline charge_status charge_locked(account_node& a, std::size_t bytes, charge_mode how,
                                   const charge_wait& most = never_waits) noexcept {
    const locked_tree scope(a);
    charge_request request{scope.tree, how, most.holds};
    const bool held = how == charge_mode::held;
    if (held) request.let_waiting_pass();
    for (;;) {
        const credit_word w = a.credit().word();
        if (w.credit() != 0 && !w.open()) {
            a.take_back(true, false); // refunds deferred into a closed credit
            continue;
        }
        if (ALLOT_UNLIKELY(!a.is_open())) return refused_closed(a, bytes);
        const std::size_t need = bytes > w.credit() ? bytes - w.credit() : 0;
        const bool opens = !held && a.may_take_credit();
        const std::size_t steps = opens ? a.credit().growth_to_whole_steps(bytes, w.credit()) : 0;
        if (steps > need && tree_node::check_levels(&a, steps).fitted()) { // whole steps, if they fit
            if (a.grant(w, steps, bytes, held, opens)) return {};
            continue;
        }
        tree_node::limit_check found = tree_node::check_levels(&a, need); // else the request alone
        if (request.retry(found)) continue;
        if (!found.charged()) return account_node::status_of(found, bytes);
        if (ALLOT_UNLIKELY(scope.tree.has_waiters()) && how != charge_mode::forced)
            if (const waiter* const due = goes_behind(a, need, most)) return status_behind(*due, bytes);
        if (!a.grant(w, need, bytes, held, opens)) continue;
        if (ALLOT_LIKELY(found.fitted())) return {};
        charged_beyond(a, found);
        return account_node::status_of(found, bytes);
    }
}
// `again`: an attempt.
template <class Attempt>
ALLOT_COLD charge_status charge_refused(account_node& a, std::size_t bytes, const charge_status& why,
                                        const charge_wait& most, Attempt again) noexcept {
    const bool at_limit = why.outcome == charge_outcome::over_limit;
    if (most.elsewhere && why.outcome == charge_outcome::held_back) return why;
    if (most.wait == nullptr && !most.judged &&
        (!at_limit || refuser_in(why)->tree().reclaimers.empty())) { // nobody can help
        if (at_limit) count_refused(*refuser_in(why));
        return why;
    }
    memory_request asked{bytes};
    asked.why = why;
    if (!most.elsewhere) asked.wait = most.wait, asked.judged = most.judged;
    charge_again(a, asked, [&] { return (asked.why = again()).charged(); });
    return asked.why;
}
ALLOT_COLD inline charge_status charge_refused(account_node& a, std::size_t bytes, const charge_status& why,
                                               const charge_wait& most) noexcept {
    return charge_refused(a, bytes, why, most, [&] { return charge_locked(a, bytes, charge_mode::checked, most); });
}
// Whether an injector has the charge fail: its status.
inline charge_status injected(account_node& a, std::size_t bytes, charge_mode how) noexcept {
    if (how == charge_mode::forced || !a.tree().has_injectors() || !a.tree().judged.by->injects(a.face, bytes))
        return {};
    const account_node& root = a.root();
    return root.status(charge_outcome::injected, bytes, used(root), root.totals().limit());
}
ALLOT_ALWAYS_INLINE charge_status charge_or_climb(account_node& a, std::size_t bytes, charge_mode how,
                                                  const charge_wait& most) noexcept {
    charge_status s = charge_locked(a, bytes, how, most);
    if (ALLOT_UNLIKELY(!s.charged()) && how == charge_mode::checked) s = charge_refused(a, bytes, s, most);
    log_event(a, s.charged() ? "charge" : "refused charge", bytes);
    if (how == charge_mode::checked) free_ahead(a); // a forced one may be in a release, a held one before its memory
    return s;
}
// With listeners or injectors.
ALLOT_NOINLINE inline charge_status charge_watched(account_node& a, std::size_t bytes, charge_mode how,
                                                   const charge_wait& most) noexcept {
    if (const charge_status s = injected(a, bytes, how); !s)
        return how == charge_mode::checked ? charge_refused(a, bytes, s, most) : s;
    const charge_status s = charge_or_climb(a, bytes, how, most);
    notify(a, [&](account_listener& l) { s.charged() ? l.after(a.face, bytes, s) : l.refused(a.face, s); });
    return s;
}
// A charge that the account's own credit does not cover.
inline charge_status charge_slow(account_node& a, std::size_t bytes, charge_mode how,
                                 const charge_wait& most = never_waits) noexcept {
    if (ALLOT_UNLIKELY(a.tree().observers.are_watching())) return charge_watched(a, bytes, how, most);
    return charge_or_climb(a, bytes, how, most);
}
// The same, which may wait.
ALLOT_NOINLINE inline charge_status charge_or_wait(account_node& a, std::size_t bytes,
                                                   const charge_wait& most) noexcept {
    if (ALLOT_UNLIKELY(a.tree().observers.are_watching())) return charge_watched(a, bytes, charge_mode::checked, most);
    return charge_or_climb(a, bytes, charge_mode::checked, most);
}
// As account::try_charge(), for a request that may wait elsewhere: it may go behind one that is due.
ALLOT_ALWAYS_INLINE charge_status try_charge(account_node& a, std::size_t bytes, const charge_wait& most) noexcept {
    if (ALLOT_LIKELY(a.credit().take(bytes))) return {};
    return charge_slow(a, bytes, charge_mode::checked, most);
}
inline bool fits(account_node& a, std::size_t bytes) noexcept {
    const locked_tree scope(a);
    charge_request request{scope.tree, charge_mode::checked};
    for (;;) {
        const std::size_t unused = a.credit().unused();
        const tree_node::limit_check found = tree_node::check_levels(&a, bytes > unused ? bytes - unused : 0);
        if (found.charged() || !request.recall(found)) return a.is_open() && found.charged();
    }
}

// ---- refund ------------------------------------------------------------------------------------------------------

// Settles a deferred refund, for requests that wait. Ends it.
ALLOT_COLD inline void settle_for_waiters(account_node& a, std::size_t bytes) noexcept {
    granted_call granted;
    {
        a.tree().lock.lock();
        locked_tree settles(a, adopt_lock, bytes, leave_drained);
        settles.leaves_granted_to(granted);
    }
    a.life.leave_refund(); // before the call, which may end the account
    call_granted(std::move(granted));
}
// Adds the refund to the credit; the lock's next holder settles it. False: take the lock, since the account is closing,
// and its last refund ends it, or the credit would exceed 2 GiB.
ALLOT_NOINLINE inline bool defer_refund(account_node& a, std::size_t bytes) noexcept {
    const bool done = a.life.enter_refund() && a.credit().defer_refund(bytes);
    if (done) {
        a.tree().lock.add_deferred(a);
        full_fence();
        if (ALLOT_UNLIKELY(a.tree().has_waiters())) return settle_for_waiters(a, bytes), true;
    }
    a.life.leave_refund(); // if done, the last access
    return done;
}
inline void refund_locked(account_node& a, std::size_t bytes) noexcept {
    tree_lock& lock = a.tree().lock;
    if (ALLOT_UNLIKELY(!lock.try_lock())) {
        if (defer_refund(a, bytes)) return;
        lock.lock();
    }
    const locked_tree scope(a, adopt_lock, bytes);
    a.refund(bytes);
    a.settle();
    end_if_drained(a);
}
// `now` returns the bytes. The account is kept until its listeners have been called: close() waits for the calls. One
// that is closing waits for no refund, which might be its last: a count delays its end.
template <class Now, class OnRefunded>
ALLOT_ALWAYS_INLINE void return_and_notify(account_node& a, const char* what, std::size_t bytes, Now now,
                                           OnRefunded on_refunded) noexcept {
    log_event(a, what, bytes); // first, since the account may end
    if (ALLOT_LIKELY(!a.tree().observers.are_watching())) return now(), on_refunded();
    const bool open = a.life.enter_refund();
    if (!open) count(a, open_counts::users, 1), a.life.leave_refund();
    now();
    on_refunded();
    notify(a, [&](account_listener& l) { l.released(a.face, bytes); }, open ? &a : nullptr);
    if (open) a.life.leave_refund();
    else count(a, open_counts::users, -1); // may end the account
}
template <class OnRefunded>
inline void refund_slow(account_node& a, std::size_t bytes, OnRefunded on_refunded) noexcept {
    return_and_notify(a, "refund", bytes, [&] { refund_locked(a, bytes); }, on_refunded);
}

// ---- hold --------------------------------------------------------------------------------------------------------

inline void confirm(account_node& a, std::size_t bytes) noexcept {
    const locked_tree scope(a);
    a.confirm(bytes);
}
inline void cancel(account_node& a, std::size_t bytes) noexcept {
    const auto now = [&] {
        locked_tree scope(a);
        a.cancel(bytes);
        scope.look_from(a);
        end_if_drained(a);
    };
    return_and_notify(a, "cancel", bytes, now, [] {});
}

// ---- limit -------------------------------------------------------------------------------------------------------

inline void set_limit(account_node& a, std::size_t bytes) noexcept {
    const locked_tree scope(a);
    a.set_limit(bytes);
    scope.tree.announce_end();
    if (a.totals().total() <= bytes) return;
    scope.tree.was_exceeded.store(true, std::memory_order_relaxed);
    scope.tree.recall_credit(a);
}
inline void set_watermark(account_node& a, std::size_t bytes) noexcept {
    const locked_tree scope(a);
    a.totals().set_watermark(bytes);
    if (bytes != SIZE_MAX) scope.tree.add_watermark();
}
// Has the root's arbiter ask the injector before charges. Requires: the account is a root that has one.
inline void add(account_node& root, injector& i) noexcept {
    root.tree().judged.by->add(i);
    const locked_tree scope(root);
    scope.tree.injectors.fetch_add(1, std::memory_order_relaxed);
    scope.tree.observers.count_injector(true);
    scope.tree.recall_credit(root);
}
inline void remove(account_node& root, injector& i) noexcept {
    root.tree().observers.count_injector(false);
    root.tree().injectors.fetch_sub(1, std::memory_order_relaxed);
    root.tree().judged.by->remove(i);
}
// For the arbiter, bytes that are coming are held outside. Where they fail, or have arrived and others got them,
// requests that wait for them ask again.
inline void note_arrival(const account& home, std::size_t bytes, arrival what) noexcept {
    const account_node& at = node_of(home);
    const judged_by judged = at.tree().judged;
    const oom::event e = what == arrival::expected ? oom::event::held_outside : oom::event::returned;
    if (what != arrival::expected) notify_unused(at);
    if (judged.by != nullptr)
        judged.by->post({.what = e, .detail = static_cast<std::uint8_t>(judged.kind), .bytes = bytes});
}
// For root_tenant: every object below the root returns what it does not use. `waits`: it may wait for work of a device.
// Returns by how many bytes the root's use fell; what other threads charge and refund meanwhile is in it.
inline std::size_t return_idle_below(const account_node& root, bool waits) noexcept {
    const std::size_t before = used(root);
    const shortage s{.why = root.status(charge_outcome::over_limit, SIZE_MAX, before, root.totals().limit()),
                     .most_cost = reclaimer::idle,
                     .waits = waits};
    reclaimers::walk idle(root.tree().reclaimers, root.shape());
    while (reclaimer* const it = idle.next(
               [&](const reclaimer& r) { return r.cost() != reclaimer::idle ? walk_step::end : walk_step::call; }))
        static_cast<void>(reclaimers::call(*it, s));
    const std::size_t now = used(root);
    return now < before ? before - now : 0;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
