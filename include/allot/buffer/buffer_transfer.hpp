// Makes views of a block for other accounts, and moves its charge to them: with a second ledger, or without.
//
// Threads: any. Listeners are called without the block's lock. Use: buffer.hpp.
#pragma once

#include <allot/account/account.hpp>
#include <allot/buffer/buffer_block.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/sync/lock_guard.hpp>

#include <atomic>
#include <cstddef>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Adds a view for the account. Returns its ledger; null if the account is closing or the host has no memory.
ALLOT_OUTLINE buffer_ledger* retain_for(buffer_block& b, account& by) noexcept {
    {
        const detail::lock_guard hold(b.lock);
        if (buffer_ledger* const has = b.view_of(by)) return has;
    }
    auto* const fresh = new (std::nothrow) buffer_ledger{.by = &by, .block = &b};
    if (fresh == nullptr) return nullptr;
    if (!by.count_if_open(counted::buffers))
        return delete fresh, nullptr; // before another thread can release a view of it
    b.lock.lock();
    buffer_ledger* const has = b.view_of(by);
    if (has == nullptr) b.append(*fresh);
    b.lock.unlock();
    if (has != nullptr) return by.count(counted::buffers, -1), delete fresh, has;
    b.note("retain", by);
    return fresh;
}

inline bool can_receive(const raw_view& v, const account& to) noexcept {
    if (ALLOT_UNLIKELY(&to.root() != &v.ledger->by->root())) {
        report_misuse({.kind = misuse::other_tree, .heap = to.name(), .address = v.data});
        return false;
    }
    return to.is_open();
}
// The ledger of `to` with one more view of the block. Null: closed, another tree, or no memory of the host.
inline buffer_ledger* retained_by(const raw_view& v, account& to) noexcept {
    return can_receive(v, to) ? retain_for(*v.ledger->block, to) : nullptr;
}
// Why retained_by() was null; `fits` for an empty view, which has no charge.
ALLOT_OUTLINE charge_status why_not_retained(const raw_view& v, const account& to) noexcept {
    if (v.ledger == nullptr) return {};
    const std::size_t bytes = v.ledger->block->memory.bytes;
    if (&to.root() != &v.ledger->by->root()) return to.status(charge_outcome::misused, bytes, to.used(), to.limit());
    const charge_status closed = why_closed(to.node(), bytes);
    return closed.fitted() ? no_memory(bytes) : closed;
}

// Enter with b.lock held; returns unlocked. A move that succeeded ends without the lock: others wait only for `mover`.
inline charge_status move_charge(buffer_block& b, account& from, account& to, move_mode how) noexcept {
    const charge_status s = begin_move(b, from, to, how);
    if (ALLOT_LIKELY(s.charged())) end_move(b, from, s);
    else {
        const detail::lock_guard hold(b.lock);
        end_move(b, from, s);
    }
    return s;
}

// Charges `to`, if the ledger's account is charged. Requires a view of `to` that stays.
ALLOT_OUTLINE charge_status transfer_charge(buffer_ledger& from, account& to, move_mode how) noexcept {
    buffer_block& b = *from.block;
    b.lock.lock();
    while (b.charged == from.by && b.is_moved_by_another_thread()) wait_for_mover(b);
    const bool has_it = b.charged == from.by && from.by != &to, in_a_call = b.is_moving();
    if (has_it && !in_a_call) return move_charge(b, *from.by, to, how);
    b.lock.unlock();
    if (!has_it) return {};
    return to.status(charge_outcome::misused, b.memory.bytes, 0, 0); // inside a call about this block's charge
}
// Whether the ledger may become that of `to`: it has one view, `to` has none, and no other view can be added while the
// charge moves. Requires b.lock.
inline bool may_relabel(const buffer_block& b, const buffer_ledger& l, const account& to) noexcept {
    if (l.views.load(std::memory_order_acquire) != 1 || b.is_moving()) return false;
    if (b.charged == l.by && (b.ledgers != &l || l.next != nullptr)) return false;
    for (const buffer_ledger* x = b.ledgers; x != nullptr; x = x->next)
        if (x->by == &to && x->alive()) return false;
    return true;
}
// As transfer_charge, without a second ledger: this ledger becomes that of `to`, unless the status says that `to` was
// not charged. False: nothing has changed; use a second ledger. Requires that `to` counts this buffer.
ALLOT_OUTLINE bool relabel_counted(buffer_ledger& l, account& to, move_mode how, charge_status& status) noexcept {
    buffer_block& b = *l.block;
    account& from = *l.by;
    b.lock.lock();
    if (!may_relabel(b, l, to)) return b.lock.unlock(), false;
    if (l.next != nullptr) b.remove(l), b.append(l);
    l.by = &to;
    l.skipped = false;
    bool end_it = false; // a call about the move released this view
    if (b.charged == &from) {
        const bool forced = how == move_mode::forced;
        status = begin_move(b, from, to, how, forced);
        if (ALLOT_UNLIKELY(!status.charged())) { // refused, or `to` was closed meanwhile; no listener was called
            const detail::lock_guard again(b.lock);
            l.by = &from;
            end_move(b, from, status);
            return forced || !from.has_ended();
        }
        end_it = l.end_deferred;
        end_move(b, from, status); // if a call added a view, another thread may end the block now
    } else {
        b.lock.unlock();
    }
    from.count(counted::buffers, -1); // may end `from` and call its listeners, so without the lock
    if (ALLOT_UNLIKELY(end_it)) end_ledger(l);
    return true;
}
// As relabel_counted; counts the buffer for `to`. False also if `to` is closing.
inline bool relabel(buffer_ledger& l, account& to, move_mode how, charge_status& status) noexcept {
    if (!to.count_if_open(counted::buffers)) return false;
    const bool done = relabel_counted(l, to, how, status);
    if (!done || ALLOT_UNLIKELY(!status.charged())) to.count(counted::buffers, -1);
    return done;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
