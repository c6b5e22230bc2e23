// How an account opens below its parent or as a root, drains, closes, and reports leaks.
//
// Cost: an opening takes the tree's mutex and lock; a close walks the accounts below. Threads: any, but for open() and
// close_for_good(), which the constructor and the destructor call; some require the lock, as they say.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/core/units.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/parking.hpp>
#include <allot/tree/account_arguments.hpp>
#include <allot/tree/account_listener.hpp>
#include <allot/tree/account_log.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/account_numbers.hpp>
#include <allot/tree/account_path.hpp>
#include <allot/tree/open_counts.hpp>
#include <allot/tree/tree_change.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Calls the listeners of `from` and all above; as observers::each() else.
inline void notify(const account_node& from, function_ref<void(account_listener&)> tell,
                   const account_node* about = nullptr, const account_node* beside = nullptr) noexcept {
    from.tree().observers.each(from.tree().lock, from, tell, about, beside);
}
inline void notify_child_change(const account_node& a, const account_node& parent, bool added) noexcept {
    if (!a.tree().observers.are_watching()) return;
    notify(parent, [&](account_listener& l) { added ? l.child_added(a.face) : l.child_removed(a.face); });
}

// ---- open ---------------------------------------------------------------------------------------------------------

inline void refuse_to_open(account_node& a, const charge_status& why) noexcept {
    a.refusal = why;
    a.life.set_closed_by(a);
    a.life.close();
}
// Opens the account below its parent, or as a root (null); closes it if that is refused.
ALLOT_OUTLINE_WARM void open(account_node& a, account_node* parent, const account_arguments& requested) noexcept {
    a.own_tree.judged = requested.judged;
    if (requested.judged.by != nullptr) requested.judged.by->roots.add(a.own_tree.as_root);
    if (!requested.has_valid_step())
        return refuse_to_open(a, a.status(charge_outcome::misused, requested.step, 0, credit_step::max_bytes));
    const bool asks_ahead = requested.watermark != SIZE_MAX;
    if (parent == nullptr) return asks_ahead ? a.own_tree.add_watermark() : void();
    {
        const lock_guard whole(parent->shape());
        const locked_tree scope(*parent);
        if (!parent->is_open()) return refuse_to_open(a, parent->life.closed_by()->refused(charge_outcome::closed, 0));
        a.attach();
        if (asks_ahead) scope.tree.add_watermark();
    }
    notify_child_change(a, *parent, true);
}

// ---- drain -------------------------------------------------------------------------------------------------------

// Requires the lock.
inline void set_closed_by(account_node& a, account_node& by) noexcept {
    account_node* const was = a.life.closed_by();
    a.life.set_closed_by(by);
    if (&by != &a) by.life.name_below(1);
    if (was != nullptr && was != &a) was->life.name_below(UINT32_MAX); // one fewer
}
// Refuses charges to this account and all below. A charge within a leaf's credit succeeds before that is taken back, or
// finds none. Requires the lock.
inline void refuse_charges(account_node& a) noexcept {
    if (!a.is_open()) return; // then all below are closed already
    a.walk([&](tree_node& n) {
        if (account_node& below = account_node::of(n); below.is_open()) set_closed_by(below, a);
        n.close_credit();
    });
    a.tree().announce_end();
}
// Refuses charges from now on; counting requires the lock from now on. Requires the lock.
inline void begin_closing(account_node& a) noexcept {
    a.life.begin_closing();
    refuse_charges(a);
}
// Requires the lock.
inline bool is_drained(const account_node& a) noexcept {
    return a.used() == 0 && !a.has_children() && a.items.empty() && a.life.counts().none();
}
// Wakes who waits for a drained account, or queues it, to be ended after the unlock. Requires the lock.
inline void end_if_drained(account_node& a) noexcept {
    if (!a.life.is_closing() || !is_drained(a)) return;
    if (a.life.is_drain_awaited()) a.tree().wake_watches();
    if (!a.life.ends_by_itself()) return;
    a.life.queue_before(a.tree().drained);
    a.tree().drained = &a;
    a.tree().act_at_unlock();
}
ALLOT_OUTLINE_COLD void count_closing(account_node& a, unsigned at, int by) noexcept {
    change_tree(a, [&](tree_change&) {
        if (!a.life.counts().add_left(at, by)) report_misuse({.kind = misuse::too_many_views, .heap = a.name()});
        end_if_drained(a);
    }); // may end the account
}
ALLOT_ALWAYS_INLINE void count(account_node& a, unsigned at, int by) noexcept {
    if (ALLOT_UNLIKELY(!a.life.counts().add(at, by))) count_closing(a, at, by);
}
// Keeps the parent from ending by itself until unpin(); returns it, null for a root.
inline account_node* pin_parent(const account_node& a) noexcept {
    const locked_tree scope(a);
    account_node* const above = a.above();
    if (above != nullptr) above->life.counts().add_locked(open_counts::users, 1);
    return above;
}
// Undoes pin_parent() of a child. Returns drained accounts, which the caller must end.
ALLOT_OUTLINE_WARM account_node* unpin(account_node& a) noexcept {
    const locked_tree scope(a);
    a.life.counts().add_locked(open_counts::users, -1);
    end_if_drained(a);
    return std::exchange(scope.tree.drained, nullptr);
}
// For those without the lock, and for calls of listeners about the account; not for a call that this thread is inside.
inline void wait_for_refunds(account_node& a) noexcept { a.life.wait_for_refunds(user_call::calls_about(&a)); }

// ---- close -------------------------------------------------------------------------------------------------------

// False: there are no leaks. Requires the mutex and the lock.
inline bool write_leaks(const account_node& a, text_writer& out) noexcept {
    const std::size_t left = a.credit().charged();
    const std::uint32_t buffers = a.life.counts().now(open_counts::buffers);
    if (left == 0 && !a.has_children() && a.items.empty() && buffers == 0) return false;
    out.put("allot: account ").name(account_path(a).text()).put(" closed with ").bytes(left).put(" not refunded");
    if (buffers != 0) out.put(", ").number(buffers).put(" buffers");
    out.newline();
    a.each_child([&](const tree_node& c) {
        out.put("  open child: ").name(c.name()).put(", ").bytes(c.used()).put(" used").newline();
    });
    each_item(a,
              [&](const account_item& i) { out.put("  open item: ").put(i.kind()).put(' ').name(i.name()).newline(); });
    if (const account_log* l = a.log()) {
        out.put("  first and last of ").number(l->events()).put(" events").newline();
        l->visit([&](const account_event& e) { write(out, e, "    ", 6); });
    }
    return true;
}
// Requires the mutex and the lock.
inline bool leave_tree(account_node& a) noexcept {
    if (!a.life.close()) return false;
    if (a.life.is_drain_awaited()) a.tree().wake_watches();
    set_closed_by(a, a);
    a.take_back(true, false);
    account_node* const above = a.above();
    if (above == nullptr) return true;
    a.detach();
    a.tree().leave_owed(a);
    a.tree().look_at_all(); // what it held is free above
    end_if_drained(*above);
    return true;
}
// False: it was closed before. Writes the leak report.
inline bool end(account_node& a, text_writer& leaks) noexcept {
    const lock_guard whole(a.shape());
    tree_change now{a};
    if (a.life.is_closed()) return false;
    refuse_charges(a);
    write_leaks(a, leaks);
    if (&a == &a.root() && a.has_children()) report_misuse({.kind = misuse::use_after_destruction, .heap = a.name()});
    const bool ended = leave_tree(a);
    now.unlock_and_wake();
    return ended;
}
// Refuses reservations that wait for a closed account.
ALLOT_COLD inline void end_queued(account_node& a) noexcept {
    for (;;) {
        tree_change now{a};
        waiter* w = now.tree.waits.all.first();
        while (w != nullptr && (w->queued == nullptr || !w->reserves->concerns(a) || w->trying))
            w = now.tree.waits.all.after(*w);
        if (w == nullptr) return;
        const_cast<tree_node*>(w->in)->waits().begin_try(*w, now.tree.waits);
        const granted_call ended = w->queued->make(*w, now.tree);
        now.unlock_and_wake();
        tree_change::call(ended);
    }
}
// False: something was reported.
ALLOT_OUTLINE_WARM bool close(account_node& a) noexcept {
    if (a.life.is_closed()) return true;
    account_node* const above = pin_parent(a); // it may wait for this child alone
    char page[8192];
    text_writer leaks{page};
    const bool ended = end(a, leaks);
    if (a.tree().has_waiters()) end_queued(a);
    wait_for_refunds(a);
    {
        const locked_tree scope(a);
    } // taking the lock settled their deferred refunds: no list names this account any more
    if (ended && above != nullptr) notify_child_change(a, *above, false);
    if (leaks.size() != 0) a.leaks.write(a.leaks.context, leaks.view());
    if (above == nullptr) return leaks.size() == 0;
    if (above->tree().has_waiters()) change_tree(*above, [](tree_change&) {}); // queued reservations may fit now
    count(*above, open_counts::users, -1);                                     // the last access to the tree
    return leaks.size() == 0;
}
// The same, and no other account names this one any more: it may be destroyed.
ALLOT_OUTLINE_WARM void close_for_good(account_node& a) noexcept {
    if (ALLOT_CHECKED != 0 && !a.life.is_closed()) // else the tree may have ended
        a.tree().reclaimers.visit(a.shape(), [&](const reclaimer& r, const account& home) {
            if (&home == &a.face) report_misuse({.kind = misuse::living_reclaimer, .heap = r.name()});
        });
    close(a);
    if (a.own_tree.judged.by != nullptr) a.own_tree.judged.by->roots.remove(a.own_tree.as_root);
    if (ALLOT_LIKELY(a.life.named_below() == 0) || &a == &a.root()) return;
    const locked_tree scope(a);
    a.root().walk([&](tree_node& n) {
        if (account_node& below = account_node::of(n); below.life.closed_by() == &a) set_closed_by(below, below);
    });
}
// Ends drained accounts: each, then its parent if that is drained by that. `ended` of an account may destroy it, and
// what it owns, but no account above it that has not ended: that one's own call does. Requires no lock and no mutex.
ALLOT_COLD inline void end_drained(account_node* first) noexcept {
    while (first != nullptr) {
        account_node& a = *std::exchange(first, first->life.next_in_queue());
        const account_lifetime::last_call last = a.life.at_end();
        account_node* const above = pin_parent(a);
        close(a);
        account_node* const next = above != nullptr ? unpin(*above) : nullptr;
        last.ended(a.face, last.context); // may destroy this account
        end_drained(next);
    }
}
// Removes the item, and ends what has drained by that.
inline void remove(account_node& a, account_item& item) noexcept {
    account_node* drained = nullptr;
    {
        const lock_guard whole(a.shape());
        const locked_tree scope(a);
        a.items.remove(item);
        end_if_drained(a);
        drained = std::exchange(scope.tree.drained, nullptr);
    }
    end_drained(drained); // takes the mutex; may destroy this account
}
// Refuses charges, sleeps at most this long until the last refund, then closes. False: something was reported.
ALLOT_OUTLINE_WARM bool close_after(account_node& a, time_span most) noexcept {
    const std::uint64_t end = wait_limit{most}.deadline();
    sys::parking spot;
    closing_watch watch{spot};
    change_tree(a, [&](tree_change& now) {
        if (a.life.is_open()) begin_closing(a);
        a.life.await_drain(1);
        now.tree.watches.add(watch);
    });
    wait_for_refunds(a);
    bool drained = false, is_over = false;
    for (;;) {
        {
            const locked_tree scope(a);
            drained = is_drained(a);
            is_over = is_over || drained || a.life.is_closed();
            if (is_over) a.life.await_drain(-1), scope.tree.watches.remove(watch);
        }
        if (is_over) break;
        is_over = spot.wait_until(end) == 0;
    }
    return close(a) && drained;
}
inline bool close_when_drained(account_node& a, account_lifetime::call ended, void* context) noexcept {
    const bool begins = change_tree(a, [&](tree_change&) {
        const bool is_open = a.life.is_open();
        if (is_open) begin_closing(a);
        return is_open;
    });
    if (!begins) return a.life.is_closed();
    wait_for_refunds(a); // later refunds take the lock
    bool is_over = false;
    {
        const locked_tree scope(a);
        is_over = is_drained(a);
        if (!is_over) a.life.call_at_end(ended, context), scope.tree.end_drained = &end_drained;
    }
    if (is_over) close(a);
    return is_over;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
