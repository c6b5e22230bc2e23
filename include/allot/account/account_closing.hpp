// How an account opens below its parent, drains, closes, and reports leaks. Part of account.hpp.
#pragma once

#include <allot/account/account.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/thread.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace allot::inline ALLOT_ABI {

// ---- open --------------------------------------------------------------------------------------------------------

inline account::account(account* parent, const detail::account_arguments& requested) noexcept
    : detail::tree_node(requested.name, parent != nullptr ? parent->root() : *this, parent, requested.limit,
                        requested.grace, requested.has_valid_step() ? requested.step : 0),
      leaks_(requested.leaks) {
    tree_.judged = requested.judged;
    if (requested.judged.by != nullptr) requested.judged.by->roots.add(tree_.as_root);
    if (!requested.has_valid_step()) {
        refuse_to_open(status(charge_outcome::misused, requested.step, 0, credit_step::max_bytes));
        return;
    }
    if (parent == nullptr) return;
    for (bool asked = false;;) {
        const opening now = try_open_below(*parent, requested.reservation, asked);
        if (now == opening::done) break;
        if (now == opening::wait) yield();
        if (now != opening::ask) continue;
        asked = true;
        detail::memory_request more{requested.reservation};
        more.why = refusal_;
        const auto again = [&] {
            const bool done = try_open_below(*parent, requested.reservation, false) == opening::done;
            more.why = refusal_;
            return done;
        };
        detail::no_own_steps none;
        steps level{*parent, reclaimer::any};
        if (detail::climb(more, none, level, again)) break;
    }
    if (is_open()) notify_child_change(*parent, true);
}
// Attaches the account and charges its reservation, or closes it. `wait`: held bytes prevent it, and the thread that
// holds them may need the mutex; release the mutex and retry. `ask`: what refused the reservation, `refusal_`, may have
// idle memory below it.
inline account::opening account::try_open_below(account& parent, std::size_t reserved, bool asked) noexcept {
    const detail::lock_guard whole(shape());
    const locked scope(*this, false);
    detail::charge_request request{scope.tree, mode::checked};
    for (;;) {
        const limit_check found = check_parent(parent, reserved);
        if (found.fitted()) break;
        if (found.outcome == charge_outcome::over_limit && found.at != this) {
            if (request.recall(*found.at)) continue;
            if (found.only_held_bytes_prevent() && !detail::user_call::is_inside_listener()) return opening::wait;
            refusal_ = status_of(found, reserved);
            if (!asked) return opening::ask;
            found.at->totals().count_refusal();
        }
        refuse_to_open(status_of(found, reserved));
        return opening::done;
    }
    refusal_ = {};
    attach(reserved);
    return opening::done;
}
inline void account::refuse_to_open(const charge_status& why) noexcept {
    refusal_ = why;
    life_.set_closed_by(*this);
    life_.close();
}
inline account::limit_check account::check_parent(account& parent, std::size_t reserved) noexcept {
    const auto refused = [](charge_outcome why, account& at) {
        return limit_check{why, false, &at, at.tree_node::used(), at.limit(), 0};
    };
    if (!parent.is_open()) return refused(charge_outcome::closed, *parent.life_.closed_by());
    if (reserved > detail::max_charged || reserved > limit()) return refused(charge_outcome::over_limit, *this);
    limit_check found = check_levels(&parent, reserved);
    found.without_grace();
    return found;
}

// ---- drain -------------------------------------------------------------------------------------------------------

// Refuses charges from now on; counting requires the lock from now on. Requires the lock.
inline void account::begin_closing() noexcept {
    life_.begin_closing();
    refuse_charges();
}
// Refuses charges to this account and all below. A charge within a leaf's credit succeeds before that is taken back, or
// finds none. Requires the lock.
inline void account::refuse_charges() noexcept {
    if (!is_open()) return; // then all below are closed already
    walk([&](tree_node& n) {
        if (account& a = *of(&n); a.is_open()) a.set_closed_by(*this);
        n.close_credit();
    });
    tree().announce_end();
}
// Requires the lock.
inline void account::set_closed_by(account& by) noexcept {
    account* const was = life_.closed_by();
    life_.set_closed_by(by);
    if (&by != this) by.life_.name_below(1);
    if (was != nullptr && was != this) was->life_.name_below(UINT32_MAX); // one fewer
}
inline account::~account() {
    close();
    if (tree_.judged.by != nullptr) tree_.judged.by->roots.remove(tree_.as_root);
    if (ALLOT_LIKELY(life_.named_below() == 0) || this == &root()) return;
    const locked scope(*this);
    root().walk([&](tree_node& n) {
        if (account& a = *of(&n); a.life_.closed_by() == this) a.set_closed_by(a);
    });
}
ALLOT_COLD inline charge_status account::refused_closed(std::size_t requested) const noexcept {
    if (refusal_.outcome != charge_outcome::closed)
        return life_.closed_by()->refused_here(charge_outcome::closed, requested);
    charge_status never_opened = refusal_; // names the account that was closed then
    never_opened.requested = requested;
    return never_opened;
}
inline charge_status account::why_closed(std::size_t bytes) const noexcept {
    const locked scope(*this, false);
    return is_open() ? charge_status{} : refused_closed(bytes);
}
ALLOT_COLD inline void account::count_closing(unsigned at, int by) noexcept {
    const locked scope(*this); // its destructor may end the account
    if (!life_.counts().add_left(at, by)) report_misuse({.kind = misuse::too_many_views, .heap = name()});
    end_if_drained();
}
// Requires the lock.
inline bool account::is_drained() const noexcept {
    return tree_node::used() == 0 && !has_children() && items_.empty() && life_.counts().none();
}
// Queues a drained account, to be ended after the unlock. Requires the lock.
inline void account::end_if_drained() noexcept {
    if (!life_.ends_by_itself() || !is_drained()) return;
    life_.queue_before(tree().drained);
    tree().drained = this;
    tree().acts_at_unlock = true;
}
ALLOT_COLD inline void account::end_drained(account* first) noexcept {
    while (first != nullptr) std::exchange(first, first->life_.next_in_queue())->end_by_itself();
}
// Ends this account, then its parent if that is drained now; one object may own both.
inline void account::end_by_itself() noexcept {
    const detail::account_lifetime::last_call last = life_.at_end();
    account* const above = pin_parent();
    close();
    account* const next = above != nullptr ? above->unpin() : nullptr;
    last.ended(*this, last.context); // may destroy this account
    end_drained(next);
}
// Keeps the parent from ending by itself until unpin(); returns it, null for a root.
inline account* account::pin_parent() noexcept {
    const locked scope(*this);
    account* const above = of(tree_node::parent());
    if (above != nullptr) above->life_.counts().add_locked(detail::open_counts::users, 1);
    return above;
}
// Undoes pin_parent() of a child. Returns drained accounts, which the caller must end.
inline account* account::unpin() noexcept {
    const locked scope(*this, false);
    life_.counts().add_locked(detail::open_counts::users, -1);
    end_if_drained();
    return std::exchange(scope.tree.drained, nullptr);
}

// For those without the lock, and for calls of listeners about the account; not for a call that this thread is inside.
inline void account::wait_for_refunds() const noexcept {
    life_.wait_for_refunds(detail::user_call::is_about(this) ? 1 : 0);
}

// ---- close -------------------------------------------------------------------------------------------------------

inline bool account::close() noexcept {
    if (life_.is_closed()) return true;
    account* const above = pin_parent(); // it may wait for this child alone
    char page[8192];
    text_writer leaks{page};
    const bool ended = end(leaks);
    wait_for_refunds();
    {
        const locked scope(*this, false);
    } // taking the lock settled their deferred refunds: no list names this account any more
    if (ended && above != nullptr) notify_child_change(*above, false);
    if (leaks.size() != 0) leaks_.write(leaks_.context, leaks.view());
    if (above != nullptr) above->count_at(detail::open_counts::users, -1); // the last access to the tree
    return leaks.size() == 0;
}
inline bool account::close(time_span most) noexcept {
    {
        const locked scope(*this);
        if (life_.is_open()) begin_closing();
    }
    wait_for_refunds();
    const std::uint64_t now = sys::fine_clock::now(), longest = (UINT64_MAX - now) / 1'000'000;
    const std::uint64_t end = now + (most.ms < longest ? most.ms : longest) * 1'000'000;
    bool drained = false;
    for (unsigned turn = 0;; ++turn) {
        {
            const locked scope(*this);
            drained = is_drained();
        }
        if (drained || sys::fine_clock::now() >= end) break;
        if (turn < 64) yield();
        else sys::sleep_thread(turn < 256 ? 50'000 : 1'000'000);
    }
    return close() && drained;
}
inline bool account::close_when_drained(void (*ended)(account&, void*) noexcept, void* context) noexcept {
    {
        const locked scope(*this);
        if (!life_.is_open()) return life_.is_closed();
        begin_closing();
    }
    wait_for_refunds(); // later refunds take the lock
    bool now = false;
    {
        const locked scope(*this);
        now = is_drained();
        if (!now) life_.call_at_end(ended, context);
    }
    if (now) close();
    return now;
}
// False: it was closed before. Writes the leak report.
inline bool account::end(text_writer& leaks) noexcept {
    const detail::lock_guard whole(shape());
    if constexpr (ALLOT_CHECKED != 0)
        tree().reclaimers.visit_locked([this](const reclaimer& r, const account& home) {
            if (&home == this) report_misuse({.kind = misuse::living_reclaimer, .heap = r.name()});
        });
    const locked scope(*this, false);
    if (life_.is_closed()) return false;
    refuse_charges();
    write_leaks(leaks);
    if (this == &root() && has_children()) report_misuse({.kind = misuse::use_after_destruction, .heap = name()});
    return leave_tree();
}
// Requires the mutex and the lock.
inline bool account::leave_tree() noexcept {
    if (!life_.close()) return false;
    set_closed_by(*this);
    take_back(true, false);
    account* const above = of(tree_node::parent());
    if (above == nullptr) return true;
    detach();
    above->end_if_drained();
    return true;
}
// False: there are no leaks. Requires the mutex and the lock.
inline bool account::write_leaks(text_writer& out) const noexcept {
    const std::size_t left = credit().charged();
    const std::uint32_t buffers = life_.counts().now(detail::open_counts::buffers),
                        reservations = life_.counts().now(detail::open_counts::buffer_reservations);
    if (left == 0 && !has_children() && items_.empty() && buffers == 0 && reservations == 0) return false;
    out.put("allot: account ").put(name()).put(" closed with ").bytes(left).put(" not refunded");
    if (buffers != 0) out.put(", ").number(buffers).put(" buffers");
    if (reservations != 0) out.put(", ").number(reservations).put(" buffer reservations");
    out.newline();
    each_child([&](const tree_node& c) {
        out.put("  open child: ").put(c.name()).put(", ").bytes(c.used()).put(" used").newline();
    });
    each_item([&](const account_item& i) { out.put("  open item: ").put(i.kind()).put(' ').put(i.name()).newline(); });
    if (const account_log* l = log()) {
        out.put("  first and last of ").number(l->events()).put(" events").newline();
        l->visit([&](const account_event& e) { write(out, e, "    ", 6); });
    }
    return true;
}
inline void account::notify_child_change(account& parent, bool added) noexcept {
    if (!tree().listeners.are_watching()) return;
    notify(parent, [&](account_listener& l) { added ? l.child_added(*this) : l.child_removed(*this); });
}

} // namespace allot::inline ALLOT_ABI
