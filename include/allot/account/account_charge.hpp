// Charges, refunds, holds and reservations of an account that its own credit does not cover. Part of account.hpp.
//
//   charge, try_charge, force_charge
//     leaf_credit::take                  one compare-and-swap, if the credit covers the bytes
//     charge_slow                        after() or refused() of listeners last, with no lock held
//       charge_locked                    takes the tree's lock, which settles deferred refunds (tree_lock.hpp)
//         tree_node::check_levels        leaf to root, changes nothing; finds the level that limits the request
//         charge_request::retry          before a refusal: recalls credit, waits for held bytes
//     climb                              a refused request is made again, step by step (ladder.hpp)
//         tree_node::grant               changes every level up to the root
//   charge_for                           waits while a limit refuses (account_waiting.hpp)
//   refund
//     leaf_credit::give                  one compare-and-swap, if the credit may grow
//     refund_slow -> refund_locked       tree_node::refund, then settle(); released() of listeners last
//       defer_refund                     if the lock is taken: its next holder settles the refund
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_steps.hpp>
#include <allot/account/ladder.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/core/min_max.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/lock_guard.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {

// ---- charge ------------------------------------------------------------------------------------------------------

template <class Visit> void account::visit_reclaimers(Visit visit) const noexcept {
    tree().reclaimers.visit(shape(), [&](const reclaimer& r, const account& home) {
        if (home.tree_node::is_below(*this)) visit(r);
    });
}
// For objects at and below: requests wait for their unused memory, or no longer do.
inline void account::settle_waits() const noexcept {
    tree().reclaimers.settle_waits(shape(), [this](const account& home) { return home.tree_node::is_below(*this); });
}
// Of all objects below a root, as far as no other thread changes what is charged meanwhile; in bytes.
inline std::size_t account::trim_idle(bool waits) const noexcept {
    const std::size_t before = used();
    const shortage s{.why = status(charge_outcome::over_limit, SIZE_MAX, before, limit()),
                     .most_cost = reclaimer::idle,
                     .waits = waits};
    detail::reclaimers::walk idle(tree().reclaimers, shape());
    while (reclaimer* const it = idle.next(
               [&](const reclaimer& r) { return r.cost() != reclaimer::idle ? walk_step::end : walk_step::call; }))
        static_cast<void>(detail::reclaimers::call(*it, s));
    const std::size_t now = used();
    return now < before ? before - now : 0;
}
inline std::size_t detail::judged_root::held() const noexcept { return of.used(); }
inline std::size_t detail::judged_root::return_idle(std::size_t, bool waits) noexcept { return of.trim_idle(waits); }
// Makes a refused request of this account again, step by step.
template <class Attempt> bool account::request_again(detail::memory_request& asked, Attempt attempt) const noexcept {
    detail::no_own_steps none;
    steps level{*this, reclaimer::any};
    return detail::climb(asked, none, level, attempt);
}
// The same for a charge: counts its refusals.
template <class Attempt>
void account::request_counted(detail::memory_request& asked, Attempt attempt, bool is_due) const noexcept {
    detail::no_own_steps none;
    steps level{*this, reclaimer::any};
    level.counts_refusals(is_due);
    static_cast<void>(detail::climb(asked, none, level, attempt));
}
// The same for a request whose attempts climb by themselves: it only waits between them.
template <class Attempt> bool account::wait_for(detail::memory_request& asked, Attempt attempt) const noexcept {
    detail::no_own_steps none;
    steps level{*this, reclaimer::idle};
    level.waits_only();
    return detail::climb(asked, none, level, attempt);
}
ALLOT_COLD inline void account::count_refused() const noexcept {
    const locked scope(*this);
    totals().count_refusal();
}
inline charge_status account::charge_slow(std::size_t bytes, mode how) noexcept {
    if (ALLOT_UNLIKELY(tree().listeners.are_watching())) return charge_watched(bytes, how, nullptr, false);
    return charge_or_climb(bytes, how, nullptr, false);
}
ALLOT_NOINLINE inline charge_status account::charge_or_wait(std::size_t bytes, const wait_limit* wait,
                                                            bool judged) noexcept {
    if (ALLOT_UNLIKELY(tree().listeners.are_watching())) return charge_watched(bytes, mode::checked, wait, judged);
    return charge_or_climb(bytes, mode::checked, wait, judged);
}
ALLOT_ALWAYS_INLINE charge_status account::charge_or_climb(std::size_t bytes, mode how, const wait_limit* wait,
                                                           bool judged) noexcept {
    const bool is_due = wait == nullptr || !waiting_request::is_due_before(*this);
    charge_status s = is_due ? charge_locked(bytes, how) : status(charge_outcome::over_limit, bytes, used(), limit());
    if (ALLOT_UNLIKELY(!s.charged()) && how == mode::checked) s = charge_again(bytes, s, wait, judged, is_due);
    if (ALLOT_UNLIKELY(log() != nullptr)) log_event(s.charged() ? "charge" : "refused charge", bytes);
    return s;
}
// With listeners or injectors.
ALLOT_NOINLINE inline charge_status account::charge_watched(std::size_t bytes, mode how, const wait_limit* wait,
                                                            bool judged) noexcept {
    if (how != mode::forced && tree().has_injectors() && arbiter().injects(*this, bytes)) {
        const charge_status s = root().status(charge_outcome::injected, bytes, root().used(), root().limit());
        return how == mode::checked ? charge_again(bytes, s, wait, judged, true) : s;
    }
    const charge_status s = charge_or_climb(bytes, how, wait, judged);
    notify(*this, [&](account_listener& l) { s.charged() ? l.after(*this, bytes, s) : l.refused(*this, s); });
    return s;
}
// `is_due`: no request that waits must be granted first.
ALLOT_COLD inline charge_status account::charge_again(std::size_t bytes, const charge_status& why,
                                                      const wait_limit* wait, bool judged, bool is_due) noexcept {
    const bool at_limit = why.outcome == charge_outcome::over_limit;
    if (wait == nullptr && !judged && (!at_limit || why.at->tree().reclaimers.empty())) { // nobody can help
        if (at_limit) why.at->count_refused();
        return why;
    }
    detail::memory_request asked{bytes};
    asked.why = why;
    asked.wait = wait;
    asked.judged = judged;
    request_counted(asked, [&] { return (asked.why = charge_locked(bytes, mode::checked)).charged(); }, is_due);
    return asked.why;
}
inline charge_status account::charge_for(std::size_t bytes, const wait_limit& wait) noexcept {
    return charge_or_wait(bytes, &wait, false);
}
// On a thread that the arbiter knows it waits; else it raises.
ALLOT_COLD inline charge_status account::charge_or_raise(std::size_t bytes) {
    const charge_status s = charge_or_wait(bytes, nullptr, true);
    if (s.charged()) return s;
    raise_verdict(s);
    raise_refused(s);
}
// Calls the listeners of `from` and all above; as listener_dispatch::each() else.
template <class Tell>
void account::notify(account& from, Tell tell, const account* about, const account* beside) noexcept {
    from.tree().listeners.each(from.tree().lock, from, tell, about, beside);
}
inline charge_status account::charge_locked(std::size_t bytes, mode how) noexcept {
    const locked scope(*this);
    detail::charge_request request{scope.tree, how};
    const bool held = how == mode::held;
    if (held) request.let_waiting_pass();
    for (;;) {
        const detail::credit_word w = credit().word();
        if (w.credit() != 0 && !w.open()) {
            take_back(true, false); // refunds deferred into a closed credit
            continue;
        }
        if (ALLOT_UNLIKELY(!is_open())) return refused_closed(bytes);
        const std::size_t need = bytes > w.credit() ? bytes - w.credit() : 0;
        const bool opens = !held && may_take_credit();
        if (opens) // whole steps, if they fit
            if (const std::size_t more = credit().growth_to_whole_steps(bytes, w.credit());
                more > need && check_levels(this, more).fitted()) {
                if (grant(w, more, bytes, held, opens)) return {};
                continue;
            }
        limit_check found = check_levels(this, need); // else the request alone
        if (request.retry(found)) continue;
        if (!found.charged()) return status_of(found, bytes);
        if (!grant(w, need, bytes, held, opens)) continue;
        if (ALLOT_LIKELY(found.fitted())) return {};
        charged_beyond(found);
        return status_of(found, bytes);
    }
}
inline bool account::may_take_credit() const noexcept {
    return credit().has_step() && is_open() && log() == nullptr && tree().peak_copy == nullptr &&
           tree().waiters.empty() && !tree().has_injectors() && may_hold_credit();
}
// Counts a charge beyond a limit, and closes the credit of the leaves below that limit.
inline void account::charged_beyond(const limit_check& found) noexcept {
    found.at->totals().count_beyond();
    tree().close_credits_where_exceeded(*this);
}
inline bool account::fits(std::size_t bytes) noexcept {
    if (bytes != 0 && has_credit(bytes)) return true;
    const locked scope(*this);
    detail::charge_request request{scope.tree, mode::checked};
    for (;;) {
        const std::size_t unused = credit().unused();
        const limit_check found = check_levels(this, bytes > unused ? bytes - unused : 0);
        if (found.charged() || !request.recall(*found.at)) return is_open() && found.charged();
    }
}

// ---- refund ------------------------------------------------------------------------------------------------------

template <class OnRefunded> inline void account::refund_slow(std::size_t bytes, OnRefunded on_refunded) noexcept {
    return_and_notify("refund", bytes, [&] { refund_locked(bytes); }, on_refunded);
}
inline void account::refund_locked(std::size_t bytes) noexcept {
    detail::tree_lock& lock = tree().lock;
    if (ALLOT_UNLIKELY(!lock.try_lock())) {
        if (defer_refund(bytes)) return;
        lock.lock();
    }
    const locked scope(*this, detail::adopt_lock, bytes);
    tree_node::refund(bytes);
    settle();
    end_if_drained();
}
// Adds the refund to the credit; the lock's next holder settles it. False: take the lock, since the account is closing,
// and its last refund ends it, or the credit would exceed 2 GiB.
ALLOT_NOINLINE inline bool account::defer_refund(std::size_t bytes) noexcept {
    const bool done = life_.enter_refund() && credit().defer_refund(bytes);
    if (done) {
        tree().lock.add_deferred(*this);
        full_fence();
        if (ALLOT_UNLIKELY(!tree().waiters.empty())) {
            tree().lock.lock();
            const locked settles(*this, detail::adopt_lock, bytes, false);
        }
    }
    life_.leave_refund(); // if done, the last access
    return done;
}
// `now` returns the bytes. The account is kept until its listeners have been called: close() waits for the calls, and a
// count delays the end of one that is closing.
template <class Now, class OnRefunded>
ALLOT_ALWAYS_INLINE void account::return_and_notify(const char* what, std::size_t bytes, Now now,
                                                    OnRefunded on_refunded) noexcept {
    if (ALLOT_UNLIKELY(log() != nullptr)) log_event(what, bytes); // first, since the account may end
    if (ALLOT_LIKELY(!tree().listeners.are_watching())) return now(), on_refunded();
    const bool open = life_.enter_refund();
    if (!open) count_at(detail::open_counts::users, 1), life_.leave_refund();
    now();
    on_refunded();
    notify(*this, [&](account_listener& l) { l.released(*this, bytes); }, open ? this : nullptr);
    if (open) life_.leave_refund();
    else count_at(detail::open_counts::users, -1); // may end the account
}

// ---- hold --------------------------------------------------------------------------------------------------------

inline void account::confirm(std::size_t bytes) noexcept {
    const locked scope(*this);
    tree_node::confirm(bytes);
}
inline void account::cancel(std::size_t bytes) noexcept {
    const auto now = [&] {
        const locked scope(*this);
        tree_node::cancel(bytes);
        end_if_drained();
    };
    return_and_notify("cancel", bytes, now, [] {});
}

// ---- reservation and limit ---------------------------------------------------------------------------------------

inline account_reservation account::maybe_reserve(std::size_t bytes) noexcept {
    account_reservation made{*this, bytes};
    made.status_ = reserve_more(made);
    if (!made.status_) {
        detail::memory_request asked{bytes};
        asked.why = made.status_;
        request_counted(asked, [&] { return (asked.why = made.status_ = reserve_more(made)).charged(); });
    }
    if (!made.status_) made.by_ = nullptr, made.bytes_ = 0;
    return made;
}
inline charge_status account::reserve_more(account_reservation& made) noexcept {
    const std::size_t bytes = made.bytes_;
    const locked scope(*this);
    detail::charge_request request{scope.tree, mode::checked};
    for (;;) {
        scope.tree.recall_credit(*this); // the credit of leaves below counts in used()
        if (ALLOT_UNLIKELY(!is_open())) return refused_closed(bytes);
        made.used_before_ = tree_node::used();
        const std::size_t now = detail::max(made.used_before_, totals().reserved());
        if (bytes > detail::max_charged - now || now + bytes > limit())
            return status(charge_outcome::over_limit, bytes, now, limit());
        limit_check found =
            check_levels(tree_node::parent(), detail::max(now + bytes, totals().total()) - totals().subtree_charge());
        found.without_grace();
        if (request.retry(found)) continue;
        if (!found.charged()) return status_of(found, bytes);
        reserve(now + bytes);
        promised_ += bytes;
        life_.counts().add_locked(detail::open_counts::users, 1);
        return {};
    }
}
// The part that was charged since the reservation began stays reserved for others: they promise bytes beyond it.
inline void account::end_reservation(const account_reservation& gone) noexcept {
    const locked scope(*this); // its destructor may end the account
    promised_ -= gone.bytes_;
    if (promised_ == 0) {
        release_reservation();
    } else if (!life_.is_closed()) {
        scope.tree.recall_credit(*this);
        const std::size_t used = tree_node::used(), charged = detail::max(used, gone.used_before_) - gone.used_before_,
                          stays = detail::min(gone.bytes_, charged),
                          most = detail::max(used, totals().reserved_at_start()) + promised_;
        reserve(detail::min(totals().reserved() - gone.bytes_ + stays, most));
    }
    life_.counts().add_locked(detail::open_counts::users, -1);
    end_if_drained();
}
inline void account_reservation::release() noexcept {
    if (account* const by = std::exchange(by_, nullptr)) by->end_reservation(*this);
    bytes_ = 0;
}
inline void account::set_limit(std::size_t bytes) noexcept {
    const locked scope(*this);
    totals().set_limit(bytes);
    scope.tree.announce_end();
    if (totals().total() > bytes) scope.tree.recall_credit(*this);
}
inline void account::set_grace(std::size_t bytes) noexcept {
    const locked scope(*this);
    totals().set_grace(bytes);
}

} // namespace allot::inline ALLOT_ABI
