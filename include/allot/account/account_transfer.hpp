// Moves a charge from one account to another. Part of account.hpp.
#pragma once

#include <allot/account/account.hpp>
#include <allot/sync/lock_guard.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

inline charge_status account::try_transfer(account& from, account& to, std::size_t bytes) noexcept {
    const charge_status s = move(from, to, bytes, mode::checked);
    if (s.charged()) return s;
    detail::memory_request asked{bytes};
    asked.why = s;
    to.request_counted(asked, [&] { return (asked.why = move(from, to, bytes, mode::checked)).charged(); });
    return asked.why;
}

inline charge_status account::move(account& from, account& to, std::size_t bytes, mode how) noexcept {
    if (&from.root() != &to.root()) {
        report_misuse({.kind = misuse::other_tree, .heap = to.name()});
        return to.status(charge_outcome::misused, bytes, to.used(), to.limit());
    }
    if (&from == &to || bytes == 0) return {};
    const bool notified = from.tree().listeners.are_watching();
    if (ALLOT_LIKELY(!notified && from.log() == nullptr && to.log() == nullptr))
        return move_locked(from, to, bytes, how);
    from.count_at(detail::open_counts::users, 1); // keeps `from` until listeners and logs are done with it
    const charge_status s = notified ? move_and_notify(from, to, bytes, how) : move_locked(from, to, bytes, how);
    from.log_event("transfer to another", bytes);
    to.log_event("transfer from another", bytes);
    from.count_at(detail::open_counts::users, -1);
    return s;
}
inline charge_status account::move_and_notify(account& from, account& to, std::size_t bytes, mode how) noexcept {
    static_cast<void>(to.life_.enter_refund()); // close() of it waits for the calls
    const charge_status s = move_locked(from, to, bytes, how);
    if (s.charged()) {
        const auto tell = [&](account_listener& l) { l.transferred(from, to, bytes, s); };
        notify(from, tell, &to, &to);
        notify(to, tell, &to);
    }
    to.life_.leave_refund();
    return s;
}
// Whether the closed account that refuses charges to `to` counts the bytes already, so that a buffer's heir can be
// charged. Requires the lock.
inline bool account::stays_below_closed(const account& from, const account& to) noexcept {
    const account& closed = *to.life_.closed_by();
    return to.life_.is_open() &&
           (from.life_.closed_by() == &closed || (!closed.life_.is_closed() && from.is_below(closed)));
}
inline charge_status account::move_locked(account& from, account& to, std::size_t bytes, mode how) noexcept {
    const locked scope(from);
    detail::charge_request request{scope.tree, how};
    for (;;) {
        if (!to.is_open() && !stays_below_closed(from, to)) return to.refused_closed(bytes);
        if (bytes > from.credit().charged()) return from.refused_here(charge_outcome::misused, bytes);
        tree_node& top = from.common_ancestor(to);
        const std::size_t up = to.subtree_charge_change(top, bytes, true),
                          down = from.subtree_charge_change(top, bytes, false);
        limit_check found = check_levels(&to, bytes, &top);
        if (found.charged() && up > down)
            if (const limit_check above = check_levels(&top, up - down); !above.charged() || found.fitted())
                found = above;
        if (request.retry(found)) continue;
        if (!found.charged()) return status_of(found, bytes);
        const auto by = static_cast<std::ptrdiff_t>(bytes);
        const change less = from.move_own(-by, top), more = to.move_own(by, top);
        climb(&top, {less.all + more.all, less.confirmed + more.confirmed});
        if (!found.fitted()) to.charged_beyond(found);
        from.end_if_drained();
        return status_of(found, bytes);
    }
}

} // namespace allot::inline ALLOT_ABI
