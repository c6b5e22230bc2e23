// Moves a charge from one account to another.
//
// Cost: one hold of the tree's lock. Threads: any.
#pragma once

#include <allot/account/account_charge.hpp>
#include <allot/account/account_node.hpp>
#include <allot/account/account_steps.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/core/error.hpp>

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
inline charge_status move_locked(account_node& from, account_node& to, std::size_t bytes, charge_mode how) noexcept {
    locked_tree scope(from);
    charge_request request{scope.tree, how};
    for (;;) {
        if (!to.is_open() && !stays_below_closed(from, to)) return refused_closed(to, bytes);
        if (bytes > from.credit().charged()) return from.refused(charge_outcome::misused, bytes);
        tree_node& top = from.common_ancestor(to);
        const std::size_t up = to.subtree_charge_change(top, bytes, true),
                          down = from.subtree_charge_change(top, bytes, false);
        const tree_node* end = &top;
        tree_node::limit_check found = tree_node::check_levels(&to, bytes, end);
        if (found.charged() && up > down)
            if (const auto above = tree_node::check_levels(&top, up - down); !above.charged() || found.fitted())
                found = above, end = nullptr;
        if (request.retry(found, end)) continue;
        if (!found.charged()) return account_node::status_of(found, bytes);
        const auto by = static_cast<std::ptrdiff_t>(bytes);
        const tree_node::change less = from.move_own(-by, top), more = to.move_own(by, top);
        tree_node::climb(&top, {less.all + more.all, less.confirmed + more.confirmed});
        scope.look_from(from);
        if (!found.fitted()) charged_beyond(to, found);
        end_if_drained(from);
        return account_node::status_of(found, bytes);
    }
}
inline charge_status move_and_notify(account_node& from, account_node& to, std::size_t bytes,
                                     charge_mode how) noexcept {
    static_cast<void>(to.life.enter_refund()); // close() of it waits for the calls
    const charge_status s = move_locked(from, to, bytes, how);
    if (s.charged()) {
        const auto tell = [&](account_listener& l) { l.transferred(from.face, to.face, bytes, s); };
        notify(from, tell, &to, &to);
        notify(to, tell, &to);
    }
    to.life.leave_refund();
    return s;
}
// Charges `to` instead of `from`, or changes nothing.
inline charge_status move(account_node& from, account_node& to, std::size_t bytes, charge_mode how) noexcept {
    if (&from.tree() != &to.tree()) {
        report_misuse({.kind = misuse::other_tree, .heap = to.name()});
        return to.status(charge_outcome::misused, bytes, used(to), to.totals().limit());
    }
    if (&from == &to || bytes == 0) return {};
    const bool notified = from.tree().observers.are_watching();
    if (ALLOT_LIKELY(!notified && from.log() == nullptr && to.log() == nullptr))
        return move_locked(from, to, bytes, how);
    count(from, open_counts::users, 1); // keeps `from` until listeners and logs are done with it
    const charge_status s = notified ? move_and_notify(from, to, bytes, how) : move_locked(from, to, bytes, how);
    log_event(from, "transfer to another", bytes);
    log_event(to, "transfer from another", bytes);
    count(from, open_counts::users, -1);
    return s;
}
inline charge_status move_or_climb(account_node& from, account_node& to, std::size_t bytes) noexcept {
    const charge_status s = move(from, to, bytes, charge_mode::checked);
    if (s.charged()) return s;
    memory_request asked{bytes};
    asked.why = s;
    charge_again(to, asked, [&] { return (asked.why = move(from, to, bytes, charge_mode::checked)).charged(); });
    return asked.why;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
