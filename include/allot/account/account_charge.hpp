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

#include <allot/account/account_climb.hpp>
#include <allot/account/account_life.hpp>
#include <allot/account/charge_request.hpp>
#include <allot/account/free_ahead.hpp>
#include <allot/account/since_refusal.hpp>
#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/tree_change.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// ---- charge ------------------------------------------------------------------------------------------------------

struct charge_need {
    account_node* of;
    std::size_t bytes;
};
inline void log_event(account_node& a, const char* what, std::size_t bytes) noexcept {
    account_log* const to = a.log();
    if (ALLOT_UNLIKELY(to != nullptr)) to->record(what, bytes, used(a));
}
// Counts a forced charge beyond a limit, and closes the credit of the leaves below that limit.
inline void charged_beyond(account_node& a, const tree_node::limit_check& found) noexcept {
    found.at->totals().count_beyond();
    a.tree().look_at_all(); // for floors of what is charged already, which need nothing more where none is free
    a.tree().note_exceeded();
    a.tree().close_credits_where_exceeded(a);
}
// A request that would fit goes behind the one that is due. Requires the lock.
ALLOT_COLD inline charge_status status_behind(const waiter& due, std::size_t bytes) noexcept {
    return account_node::of(*due.in).refused(charge_outcome::held_back, bytes);
}
// For memory that takes no charge, of an object's own idle pages and free slots: whether the request goes behind one
// that is due. Before it passes for what its task has, give_idle() has the object's empty pages counted as unused.
template <class GiveIdle>
ALLOT_COLD bool look_for_due(const account_node& a, memory_request& asked, GiveIdle give_idle) noexcept {
    const std::size_t bytes = max(asked.bytes, std::size_t{1});
    for (bool are_given = false;; are_given = true) {
        {
            const locked_tree scope(a);
            if (const waiter* const due = due_ahead(a, bytes, asked))
                return asked.refuse(status_behind(*due, asked.bytes)), true;
            if (are_given || !may_wait(a, asked) ||
                due_before(&a, bytes, is_patient(asked), of_this_thread.trying) == nullptr)
                return false;
        }
        give_idle();
    }
}
template <class GiveIdle>
ALLOT_ALWAYS_INLINE bool goes_behind_due(const account_node& a, memory_request& asked, GiveIdle give_idle) noexcept {
    return a.tree().may_have_due() && look_for_due(a, asked, give_idle);
}
// It has that memory: it passes those that wait, if it may wait itself. Others are not counted here, and take no lock.
ALLOT_OUTLINE_COLD void passes(const account_node& a, const memory_request& asked) noexcept {
    const waiter* const own = of_this_thread.trying;
    const std::uint32_t itself = own != nullptr && &own->by->tree() == &a.tree() ? 1 : 0;
    if (a.tree().in_order() <= itself || !may_wait(a, asked)) return;
    const locked_tree scope(a);
    note_passed(a, max(asked.bytes, std::size_t{1}), own, true, is_patient(asked));
}
// One attempt; requires the lock. Each check and its grant share one hold. retry(found) is called where a level
// refuses, and may release the lock. True: check again. False: it may have set found.outcome to `forced`, and the bytes
// are charged beyond the limit, as the status says.
template <class Retry>
ALLOT_ALWAYS_INLINE charge_status charge_in_hold(account_node& a, std::size_t bytes, charge_mode how,
                                                 const charge_wait& most, Retry retry) noexcept {
    const bool held = how == charge_mode::held;
    for (;;) {
        const credit_word w = a.credit().word();
        if (w.credit() != 0 && !w.open()) {
            a.close_credit(); // refunds were deferred into it
            continue;
        }
        if (ALLOT_UNLIKELY(!a.is_open())) return refused_closed(a, bytes);
        const std::size_t need = bytes > w.credit() ? bytes - w.credit() : 0;
        const bool opens = !held && a.may_take_credit();
        const std::size_t steps = opens ? a.credit().growth_to_whole_steps(bytes, w.credit()) : 0;
        // Whole steps, if they fit. None is due here but patient requests, which what is in credit passes.
        if (steps > need && tree_node::check_levels(&a, steps).fitted()) {
            if (a.grant(w, steps, bytes, held, opens)) return {};
            continue;
        }
        tree_node::limit_check found = tree_node::check_levels(&a, need); // else the request alone
        if (ALLOT_UNLIKELY(!found.fitted()) && retry(found)) continue;
        if (!found.charged()) return account_node::status_of(found, bytes);
        if (ALLOT_UNLIKELY(a.tree().has_waiters()) && how != charge_mode::forced)
            if (const waiter* const due = goes_behind(a, need, most)) return status_behind(*due, bytes);
        if (!a.grant(w, need, bytes, held, opens)) continue;
        if (ALLOT_LIKELY(found.fitted())) return {};
        charged_beyond(a, found);
        return account_node::status_of(found, bytes);
    }
}
// The same; it takes the lock.
inline charge_status charge_locked(account_node& a, std::size_t bytes, charge_mode how,
                                   const charge_wait& most = never_waits) noexcept {
    return change_tree(a, [&](tree_change& now) ALLOT_ALWAYS_INLINE_LAMBDA {
        charge_request request{now.tree, how};
        if (how == charge_mode::held) request.let_waiting_pass();
        return charge_in_hold(a, bytes, how, most, [&](tree_node::limit_check& found) { return request.retry(found); });
    });
}
// Holds bytes of several accounts of one tree, all or none, with one hold of the lock: nobody sees a part. need(i): the
// i-th of `n` {account, bytes}; different accounts. What a level above several of them refuses is the sum of theirs.
// `at`: the number of the one that is refused.
template <class Need>
charge_status hold_all_locked(std::size_t n, Need need, const charge_wait& most, std::size_t& at) noexcept {
    return change_tree(*need(0).of, [&](tree_change& now) -> charge_status {
        charge_request request{now.tree, charge_mode::held};
        request.let_waiting_pass();
        for (std::size_t done = 0;;) {
            std::size_t of_others = 0; // that the level which refuses has of those before
            bool again = false;
            at = done;
            const charge_need next = need(done);
            charge_status s =
                charge_in_hold(*next.of, next.bytes, charge_mode::held, most, [&](tree_node::limit_check& found) {
                    while (done != 0) { // others may be asked for bytes, or waited for, with none held here
                        const charge_need before = need(--done);
                        before.of->cancel(before.bytes);
                        if (before.of->is_below(*found.at)) of_others += before.bytes;
                    }
                    found.used -= min(of_others, found.used);
                    found.more = sum_or_max(found.more, of_others);
                    again = request.retry(found);
                    return false;
                });
            if (again) continue;
            if (s.charged()) {
                if (++done == n) return s;
                continue;
            }
            while (done != 0) --done, need(done).of->cancel(need(done).bytes);
            s.requested += of_others;
            return s;
        }
    });
}
// `again`: an attempt.
template <class Attempt>
ALLOT_COLD charge_status charge_refused(account_node& a, std::size_t bytes, const charge_status& why,
                                        const charge_wait& most, Attempt again) noexcept {
    const bool at_limit = why.outcome == charge_outcome::over_limit;
    if (most.wait == nullptr && !most.judged &&
        (!at_limit || refuser_in(why)->tree().reclaimers.empty())) { // nobody can help
        since_refusal::note();
        if (at_limit) count_refused(*refuser_in(why));
        return why;
    }
    memory_request asked{bytes, most};
    asked.why = why;
    asked.of_charge = true;
    static_cast<void>(request_again(a, asked, [&] { return (asked.why = again()).charged(); }));
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
    if (ALLOT_UNLIKELY(!s.charged()) && how == charge_mode::checked && !most.is_attempt)
        s = charge_refused(a, bytes, s, most);
    log_event(a, s.charged() ? "charge" : "refused charge", bytes);
    if (how == charge_mode::checked) free_ahead(a); // a forced one may be in a release, a held one before its memory
    return s;
}
// With listeners or injectors.
ALLOT_OUTLINE charge_status charge_watched(account_node& a, std::size_t bytes, charge_mode how,
                                           const charge_wait& most) noexcept {
    if (const charge_status s = injected(a, bytes, how); !s)
        return how == charge_mode::checked && !most.is_attempt ? charge_refused(a, bytes, s, most) : s;
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
ALLOT_OUTLINE charge_status charge_or_wait(account_node& a, std::size_t bytes, const charge_wait& most) noexcept {
    if (ALLOT_UNLIKELY(a.tree().observers.are_watching())) return charge_watched(a, bytes, charge_mode::checked, most);
    return charge_or_climb(a, bytes, charge_mode::checked, most);
}
// As account::try_charge(), for a request that may wait: it may go behind one that is due.
ALLOT_ALWAYS_INLINE charge_status try_charge(account_node& a, std::size_t bytes, const charge_wait& most) noexcept {
    if (ALLOT_LIKELY(a.credit().take(bytes))) return {};
    return charge_slow(a, bytes, charge_mode::checked, most);
}
// hold_all_locked(), with injectors, and listeners last. A refusal calls the listeners of the account that is refused,
// no others.
template <class Need> charge_status hold_all(std::size_t n, Need need, const charge_wait& most) noexcept {
    const bool is_watched = need(0).of->tree().observers.are_watching();
    if (ALLOT_UNLIKELY(is_watched))
        for (std::size_t i = 0; i != n; ++i)
            if (const charge_status s = injected(*need(i).of, need(i).bytes, charge_mode::held); !s) return s;
    std::size_t at = 0;
    const charge_status s = hold_all_locked(n, need, most, at);
    const auto tell = [&](const charge_need& c) {
        const account& of = c.of->face;
        log_event(*c.of, s ? "charge" : "refused charge", c.bytes);
        if (ALLOT_UNLIKELY(is_watched))
            notify(*c.of, [&](account_listener& l) { s ? l.after(of, c.bytes, s) : l.refused(of, s); });
    };
    if (!s) return tell(need(at)), s;
    for (at = 0; at != n; ++at) tell(need(at));
    return s;
}
inline bool fits(account_node& a, std::size_t bytes) noexcept {
    return change_tree(a, [&](tree_change& now) {
        charge_request request{now.tree, charge_mode::checked};
        for (;;) {
            const std::size_t unused = a.credit().unused();
            const tree_node::limit_check found = tree_node::check_levels(&a, bytes > unused ? bytes - unused : 0);
            if (found.charged() || !request.recall(found)) return a.is_open() && found.charged();
        }
    });
}

// ---- refund ------------------------------------------------------------------------------------------------------

// Settles a deferred refund, for requests that wait. Ends it.
ALLOT_COLD inline void settle_for_waiters(account_node& a, std::size_t bytes) noexcept {
    granted_call granted;
    a.tree().lock.lock();
    tree_change{a, adopt_lock, bytes}.unlock_and_wake(granted);
    a.life.leave_refund(); // before the call, which may end the account
    tree_change::call(granted);
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
    tree_change now{a, adopt_lock, bytes};
    a.refund(bytes);
    a.settle();
    end_if_drained(a);
    now.unlock_and_do();
}
// The account is kept until its listeners have been called: close() waits for the calls. One that is closing waits for
// no refund, which might be its last: a count delays its end.
ALLOT_OUTLINE void return_before_listeners(account_node& a, std::size_t bytes, function_ref<void()> now) noexcept {
    const bool open = a.life.enter_refund();
    if (!open) count(a, open_counts::users, 1), a.life.leave_refund();
    now();
    notify(a, [&](account_listener& l) { l.released(a.face, bytes); }, open ? &a : nullptr);
    if (open) a.life.leave_refund();
    else count(a, open_counts::users, -1); // may end the account
}
// `now` returns the bytes.
template <class Now>
ALLOT_ALWAYS_INLINE void return_and_notify(account_node& a, const char* what, std::size_t bytes, Now now) noexcept {
    log_event(a, what, bytes); // first, since the account may end
    if (ALLOT_LIKELY(!a.tree().observers.are_watching())) now();
    else return_before_listeners(a, bytes, now);
}
template <class OnRefunded>
inline void refund_slow(account_node& a, std::size_t bytes, OnRefunded on_refunded) noexcept {
    return_and_notify(a, "refund", bytes, [&] { refund_locked(a, bytes), on_refunded(); });
}

// ---- hold --------------------------------------------------------------------------------------------------------

inline void confirm(account_node& a, std::size_t bytes) noexcept {
    change_tree(a, [&](tree_change&) { a.confirm(bytes); });
}
inline void cancel(account_node& a, std::size_t bytes) noexcept {
    const auto cancel = [&](tree_change& now) {
        a.cancel(bytes);
        now.look_from(a);
        end_if_drained(a);
    };
    return_and_notify(a, "cancel", bytes, [&] { change_tree(a, cancel); });
}

// ---- limit -------------------------------------------------------------------------------------------------------

inline void set_limit(account_node& a, std::size_t bytes) noexcept {
    change_tree(a, [&](tree_change& now) {
        a.set_limit(bytes);
        now.tree.announce_end();
        if (a.totals().total() > bytes) now.tree.note_exceeded(), now.tree.recall_credit(a);
    });
}
inline void set_object(account_node& a, const charged_object* object) noexcept {
    const locked_tree scope(a);
    a.object = object;
}
// A limit of an object that is charged there is exceeded.
inline void note_exceeded(account_node& a) noexcept {
    const locked_tree scope(a);
    scope.tree.note_exceeded();
}
inline void set_watermark(account_node& a, std::size_t bytes) noexcept {
    const locked_tree scope(a);
    a.totals().set_watermark(bytes);
    if (bytes != SIZE_MAX) scope.tree.add_watermark();
}
// Has the root's arbiter ask the injector before charges. Requires: the account is a root that has one.
inline void add(account_node& root, injector& i) noexcept {
    root.tree().judged.by->add(i);
    change_tree(root, [&](tree_change& now) {
        now.tree.injectors.fetch_add(1, std::memory_order_relaxed);
        now.tree.observers.count_injector(true);
        now.tree.recall_credit(root);
    });
}
inline void remove(account_node& root, injector& i) noexcept {
    root.tree().observers.count_injector(false);
    root.tree().injectors.fetch_sub(1, std::memory_order_relaxed);
    root.tree().judged.by->remove(i);
}
// For the arbiter, bytes that are coming are held outside. Where they fail, or have arrived and others got them,
// requests that wait for them ask again.
ALLOT_OUTLINE_WARM void note_arrival(const account& home, std::size_t bytes, arrival what) noexcept {
    const account_node& at = node_of(home);
    const judged_by judged = at.tree().judged;
    const oom::event e = what == arrival::expected ? oom::event::held_outside : oom::event::returned;
    const bool asks = what != arrival::expected && notify_unused(at);
    if (judged.by != nullptr)
        judged.by->post({.what = e, .detail = static_cast<std::uint8_t>(judged.kind), .bytes = bytes});
    if (asks) free_ahead(at);
}
// Every object at and below the account returns what it does not use; with 0 bytes it looks for that, as a tenant does.
// `waits`: it may wait for work of a device. Returns by how many bytes the account's use fell; what other threads
// charge and refund meanwhile is in it.
ALLOT_OUTLINE_WARM std::size_t return_idle_below(const account_node& at, bool waits, std::size_t bytes) noexcept {
    const std::size_t before = used(at);
    const shortage s{.why = at.status(charge_outcome::over_limit, bytes, before, at.totals().limit()),
                     .most_cost = reclaimer::idle,
                     .waits = waits};
    reclaimers::walk idle(at.tree().reclaimers, at.shape());
    while (reclaimer* const it = idle.next([&](const reclaimer& r) {
        if (r.cost() != reclaimer::idle) return walk_step::end;
        return is_asked_at(at, r, reclaimers::home_of(r)) ? walk_step::call : walk_step::skip;
    }))
        static_cast<void>(reclaimers::call(*it, s));
    const std::size_t now = used(at);
    return now < before ? before - now : 0;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
