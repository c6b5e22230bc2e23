// Moves a charge from one account to another; and charges for memory that another account of the tree is charged for.
//
//   move           a transfer, as the user asks for it
//   charge_from    a pool lends a block: `to` is charged, as by try_charge(), and `from` is not, from then on. Levels
//                  above both count the bytes once at any moment, so they are not asked for room
//   return_to      the block is back
// Cost: one hold of the tree's lock; within the credits of both a compare-and-swap each. Threads: any.
#pragma once

#include <allot/account/account_charge.hpp>
#include <allot/account/account_climb.hpp>
#include <allot/account/free_ahead.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/tree_change.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Whether the closed account that refuses charges to `to` counts the bytes already, so that a buffer's heir can be
// charged. Requires the lock.
inline bool stays_below_closed(const account_node& from, const account_node& to) noexcept {
    const account_node& closed = *to.life.closed_by();
    return to.life.is_open() &&
           (from.life.closed_by() == &closed || (!closed.life.is_closed() && from.is_below(closed)));
}
// Credit for the next moves to the account, if all levels have room for it. Requires the lock.
inline void grant_credit(account_node& a, std::size_t bytes) noexcept {
    const credit_word w = a.credit().word();
    if (w.covers(bytes) || !a.may_take_credit()) return;
    const std::size_t steps = a.credit().growth_to_whole_steps(bytes, w.credit());
    if (tree_node::check_levels(&a, steps).fitted()) static_cast<void>(a.grant(w, steps, 0, false, true));
}
// The part of a block to lend that the pool owes to other accounts, and has no other bytes for.
ALLOT_COLD inline std::size_t owed_to_others(const account_node& from, const account_node& to,
                                             std::size_t bytes) noexcept {
    const std::size_t owed = from.tree().owed_to_others(from, to), left = from.credit().charged() - bytes;
    return owed - min(owed, left);
}
// A block has returned to its pool. If levels at and above `top` have no room for it beside the bytes that its account
// reserves, the pool owes these. False: the levels count some of it beyond their limits.
ALLOT_COLD inline bool owe(account_node& from, const account_node& pool, tree_node& top,
                           tree_node::change& at_top) noexcept {
    for (;;) {
        const std::size_t more = at_top.all > 0 ? static_cast<std::size_t>(at_top.all) : 0;
        const tree_node::limit_check found = tree_node::check_levels(&top, more);
        if (found.fitted()) return true;
        if (!from.tree().owe(from, top, pool, found.at->totals().missing(found.more), at_top)) return false;
    }
}
// `lends`: for a charge_from() or return_to(). `most`: how far a request goes that may go behind one that is due.
inline charge_status move_locked(account_node& from, account_node& to, std::size_t bytes, charge_mode how, bool lends,
                                 const charge_wait& most) noexcept {
    return change_tree(from, [&](tree_change& now) ALLOT_ALWAYS_INLINE_LAMBDA {
        charge_request request{now.tree, how};
        for (;;) {
            if (!to.is_open() && !stays_below_closed(from, to)) return refused_closed(to, bytes);
            if (bytes > from.credit().charged()) return from.refused(charge_outcome::misused, bytes);
            tree_node& top = from.common_ancestor(to);
            const std::size_t up = to.subtree_charge_change(top, bytes, true);
            std::size_t down = from.subtree_charge_change(top, bytes, false);
            if (ALLOT_UNLIKELY(!now.tree.owed.empty()) && lends && how != charge_mode::forced)
                down -= min(down, owed_to_others(from, to, bytes));
            const tree_node* end = &top;
            tree_node::limit_check found = tree_node::check_levels(&to, bytes, end);
            if (found.fitted() && up > down) found = tree_node::check_levels(&top, up - down), end = nullptr;
            if (request.retry(found, end)) continue;
            if (!found.charged()) return account_node::status_of(found, bytes);
            if (ALLOT_UNLIKELY(now.tree.has_waiters()) && lends && how != charge_mode::forced)
                if (const waiter* const due = goes_behind(to, bytes, most)) return status_behind(*due, bytes);
            const auto by = static_cast<std::ptrdiff_t>(bytes);
            tree_node::change at_top = from.move_own(-by, top);
            if (now.tree.reservations != 0) at_top += account_tree::settle_reservations(from, &top);
            at_top += to.move_own(by, top);
            if (ALLOT_UNLIKELY(!found.fitted()) && lends && owe(from, to, top, at_top) && end == nullptr) found = {};
            tree_node::climb(&top, at_top);
            now.look_from(from);
            if (now.tree.has_watermarks()) note_watermarks(to);
            if (!found.fitted()) charged_beyond(to, found);
            if (lends) grant_credit(to, bytes);
            end_if_drained(from);
            return account_node::status_of(found, bytes);
        }
    });
}
inline charge_status move_and_notify(account_node& from, account_node& to, std::size_t bytes, charge_mode how,
                                     bool lends, const charge_wait& most) noexcept {
    static_cast<void>(to.life.enter_refund()); // close() of it waits for the calls
    const charge_status s = move_locked(from, to, bytes, how, lends, most);
    if (s.charged()) {
        const auto tell = [&](account_listener& l) { l.transferred(from.face, to.face, bytes, s); };
        notify(from, tell, &to, &to);
        notify(to, tell, &to);
    }
    to.life.leave_refund();
    return s;
}
// Charges `to` instead of `from`, or changes nothing.
ALLOT_OUTLINE_WARM charge_status move(account_node& from, account_node& to, std::size_t bytes, charge_mode how,
                                      bool lends = false, const charge_wait& most = never_waits) noexcept {
    if (&from.tree() != &to.tree()) {
        report_misuse({.kind = misuse::other_tree, .heap = to.name()});
        return to.status(charge_outcome::misused, bytes, used(to), to.totals().limit());
    }
    if (&from == &to || bytes == 0) return {};
    const bool notified = from.tree().observers.are_watching();
    if (ALLOT_LIKELY(!notified && from.log() == nullptr && to.log() == nullptr))
        return move_locked(from, to, bytes, how, lends, most);
    count(from, open_counts::users, 1); // keeps `from` until listeners and logs are done with it
    const charge_status s =
        notified ? move_and_notify(from, to, bytes, how, lends, most) : move_locked(from, to, bytes, how, lends, most);
    log_event(from, "transfer to another", bytes);
    log_event(to, "transfer from another", bytes);
    count(from, open_counts::users, -1);
    return s;
}
ALLOT_OUTLINE_WARM charge_status move_or_climb(account_node& from, account_node& to, std::size_t bytes) noexcept {
    const charge_status s = move(from, to, bytes, charge_mode::checked);
    if (s.charged()) return s;
    memory_request asked{bytes};
    asked.of_charge = true;
    asked.why = s;
    static_cast<void>(
        request_again(to, asked, [&] { return (asked.why = move(from, to, bytes, charge_mode::checked)).charged(); }));
    return asked.why;
}

// ---- lending -----------------------------------------------------------------------------------------------------

ALLOT_OUTLINE charge_status lend(account_node& from, account_node& to, std::size_t bytes,
                                 const charge_wait& most) noexcept {
    const auto once = [&] { return move(from, to, bytes, charge_mode::checked, true, most); };
    charge_status s = injected(to, bytes, charge_mode::checked);
    if (s.charged()) s = once();
    if (ALLOT_UNLIKELY(!s.charged())) return most.is_attempt ? s : charge_refused(to, bytes, s, most, once);
    return then_free_ahead(to, s);
}
// What an account has reserved, for pages that a pool needs for a block of it: where levels above both have no room
// beside the reserved bytes, the pool owes them to the account from then on, until the block is charged to it.
// Listeners are called for the block, not for the pages.
class promised_pages {
  public:
    explicit promised_pages(account_node& by) noexcept : by_(by) {}

    // Holds bytes of the pool. False: it needs none of what is reserved, or that does not help; then `why` says what
    // refuses the rest.
    ALLOT_OUTLINE_WARM bool hold(account_node& pool, std::size_t bytes, charge_status& why) noexcept {
        is_used_ = change_tree(pool, [&](tree_change& now) {
            charge_request request{now.tree, charge_mode::checked};
            const tree_node& top = pool.common_ancestor(by_);
            tree_node* const at = promised_at(top);
            if (at == nullptr || !pool.is_open()) return false;
            for (;;) {
                const credit_word w = pool.credit().word();
                if (w.credit() != 0 && !w.open()) {
                    pool.take_back(true, false); // refunds deferred into a closed credit
                    continue;
                }
                const std::size_t need = bytes > w.credit() ? bytes - w.credit() : 0;
                const tree_node::limit_check found = tree_node::check_levels(&pool, need);
                if (found.charged()) return false;
                if (request.recall(found)) continue;
                const std::size_t n = min(need, at->totals().promised());
                now.tree.owe(*at, &pool, n);
                const tree_node* const end = n == need ? &top : nullptr; // nothing changes there and above
                const tree_node::limit_check rest = tree_node::check_levels(&pool, need, end);
                if (rest.charged() && pool.grant(w, need, bytes, true, false)) return true;
                at->pay();
                if (!rest.charged()) { // below both it needs them all
                    const std::size_t missing = top.is_below(*rest.at) ? bytes - n : bytes;
                    why = account_node::of(*rest.at).status(rest.outcome, missing, rest.at->used(), rest.limit);
                }
                return false;
            }
        });
        return is_used_;
    }
    bool is_used() const noexcept { return is_used_; }

  private:
    // The highest level below `top` that has reserved more than it uses, and than its floors.
    tree_node* promised_at(const tree_node& top) const noexcept {
        tree_node* at = nullptr;
        for (tree_node* n = &by_; n != &top && n != nullptr; n = n->parent())
            if (n->totals().promised() != 0) at = n;
        return at;
    }

    account_node& by_;
    bool is_used_ = false;
};
// Whether the levels that only `to` is below have room, and no due request goes first. Changes nothing.
ALLOT_OUTLINE_WARM charge_status may_lend(account_node& from, account_node& to, std::size_t bytes,
                                          const charge_wait& most) noexcept {
    return change_tree(to, [&](tree_change& now) {
        charge_request request{now.tree, charge_mode::checked};
        const tree_node* const top = &from.common_ancestor(to);
        const std::size_t unused = to.credit().unused(), more = bytes > unused ? bytes - unused : 0;
        for (;;) {
            tree_node::limit_check found = tree_node::check_levels(&to, more, top);
            if (request.retry(found, top)) continue;
            const waiter* const due = found.charged() && now.tree.has_waiters() ? due_ahead(to, bytes, most) : nullptr;
            return due != nullptr ? status_behind(*due, bytes) : account_node::status_of(found, bytes);
        }
    });
}
// Requires: `from` is charged for the bytes, and is of the same tree.
ALLOT_ALWAYS_INLINE charge_status charge_from(account_node& from, account_node& to, std::size_t bytes,
                                              const charge_wait& most) noexcept {
    if (ALLOT_UNLIKELY(!to.credit().take(bytes))) return lend(from, to, bytes, most);
    if (ALLOT_UNLIKELY(!from.credit().give(bytes))) refund_slow(from, bytes, [] {});
    return {};
}
ALLOT_NOINLINE inline void take_back(account_node& to, account_node& from, std::size_t bytes) noexcept {
    if (ALLOT_LIKELY(move(from, to, bytes, charge_mode::forced, true).charged())) return;
    if (from.is_open()) report_misuse({.kind = misuse::over_refunded, .heap = from.name()});
    static_cast<void>(charge_slow(to, bytes, charge_mode::forced)); // the charge of an account that ended has, too
}
ALLOT_ALWAYS_INLINE void return_to(account_node& to, account_node& from, std::size_t bytes) noexcept {
    if (ALLOT_UNLIKELY(!to.credit().take(bytes))) return take_back(to, from, bytes);
    if (ALLOT_UNLIKELY(!from.credit().give(bytes))) refund_slow(from, bytes, [] {});
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
