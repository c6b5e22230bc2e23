// The state behind a buffer: a block of memory, and a ledger for each account that shares it.
//
//     view, view ... -- ledger of scan (number of views) --+
//     view ------------ ledger of join --------------------+-- block: address, bytes, charged account, ledgers by
//     arrival
//
// All of it is host memory beside the block, so the block may be a device's. Adding or releasing a view is one atomic
// operation on its ledger's count. The rest requires the block's lock: a new ledger, the charged account, a ledger's
// end.
// Invariant: exactly one account is charged for the block until it is freed; a ledger is listed from its first view to
// its end; its count reaches 0 once, and the thread that brought it there ends it.
//
// The next_charged of the charge, when the last view of the charged account is released, is the first of these:
//   1. of the accounts with views, the one whose ledger arrived first; closed accounts are skipped. It is forced
//   2. an account whose last view is being released just now
//   3. none: the charge stays until the block is freed
// The charge moves without the lock, since listeners are called, while `mover` is the moving thread. A thread that
// releases the next_charged's last view waits for the move, which waits for nothing; inside a call of the mover's own
// thread it leaves the end to the mover.
// Cost: 104 bytes a block, its first ledger included, 32 for each other. Threads: any. Source: Drill's BufferLedger and
// AllocationManager, 2014, which lock for every release and leave the next_charged to a hash table's order.
#pragma once

#include <allot/buffer/buffer_memory.hpp>
#include <allot/buffer/buffer_records.hpp>
#include <allot/config.hpp>
#include <allot/ledger/account.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// Foreign memory is given back by this, once, when its last view goes.
using foreign_release = void (*)(void* context, std::byte* address, std::size_t bytes) noexcept;

namespace detail {

struct buffer_block;

// What one account has of a block.
struct buffer_ledger {
    std::atomic<std::uint32_t> views{1};
    bool skipped = false;      // it was to inherit, and was closed
    bool end_deferred = false; // its last view went in a call about the charge coming here: the mover ends it
    account* by;               // changed by its only view, under the lock
    buffer_block* block;
    buffer_ledger* next = nullptr; // arrived later

    bool alive() const noexcept { return views.load(std::memory_order_relaxed) != 0; }
    bool add_view() noexcept {
        std::uint32_t n = views.load(std::memory_order_relaxed);
        while (n != 0)
            if (views.compare_exchange_weak(n, n + 1, std::memory_order_relaxed)) return true;
        return false;
    }
};

struct foreign_memory {
    foreign_release release;
    void* context;
};
union buffer_source {
    buffer_source(const buffer_memory& m) noexcept : memory(m) {}
    buffer_source(const foreign_memory& f) noexcept : foreign(f) {}
    buffer_memory memory;
    foreign_memory foreign;
};

struct buffer_block {
    memory_block memory;
    account* charged;                     // by the lock, as all that follows
    std::atomic<std::uintptr_t> mover{0}; // the thread that moves the charge to `charged`; set under the lock
    buffer_ledger* ledgers = nullptr;
    buffer_source source;
    std::atomic<account_log*> log{nullptr};
    spin_lock lock;
    bool is_foreign;
    bool host_access;
    bool was_shared = false; // there was a second ledger; written once, by who has a view of the first
    buffer_ledger first;

    buffer_block(const memory_block& m, account& by, const buffer_source& from, bool foreign, bool host) noexcept
        : memory(m), charged(&by), source(from), is_foreign(foreign), host_access(host),
          first{.by = &by, .block = this} {
        ledgers = &first;
        by.count(counted::buffers, 1);
    }

    bool is_moving() const noexcept { return mover.load(std::memory_order_acquire) != 0; }
    bool is_moved_by_another_thread() const noexcept {
        const std::uintptr_t by = mover.load(std::memory_order_acquire);
        return by != 0 && by != sys::thread_token();
    }
    void append(buffer_ledger& l) noexcept {
        buffer_ledger** at = &ledgers;
        while (*at != nullptr) at = &(*at)->next;
        *at = &l;
        l.next = nullptr;
        if (&l != &first && !was_shared) was_shared = true;
    }
    void remove(buffer_ledger& l) noexcept {
        buffer_ledger** at = &ledgers;
        while (*at != &l) at = &(*at)->next;
        *at = l.next;
    }
    // With one view more; null: the account has none.
    buffer_ledger* view_of(const account& by) noexcept {
        for (buffer_ledger* l = ledgers; l != nullptr; l = l->next)
            if (l->by == &by && l->add_view()) return l;
        return nullptr;
    }
    // Whom the charge falls to when `gone` goes: that account itself, where it came back, else the first that has
    // views. Where none has, the first whose end is on its way: it is here, and its account with it, until its own
    // thread comes for the lock.
    buffer_ledger* next_charged(const buffer_ledger& gone) const noexcept {
        buffer_ledger *found = nullptr, *ending = nullptr;
        for (buffer_ledger* l = ledgers; l != nullptr; l = l->next) {
            if (l == &gone) continue;
            if (!l->alive()) {
                if (ending == nullptr && !l->skipped) ending = l;
                continue;
            }
            if (l->by == gone.by) return l;
            if (found == nullptr && !l->skipped) found = l;
        }
        return found != nullptr ? found : ending;
    }
    void note(const char* what, const account& a) noexcept {
        if (account_log* const to = log.load(std::memory_order_acquire); ALLOT_UNLIKELY(to != nullptr))
            note_in(*to, what, a);
    }
    ALLOT_COLD void note_in(account_log& to, const char* what, const account& a) const noexcept {
        to.record(what, memory.bytes, a.used());
    }
};

static_assert(sizeof(buffer_block) == buffer_record &&
              std::is_trivially_destructible_v<buffer_block>); // its record goes as it is

inline void unlock_and_relock(buffer_block& b) noexcept {
    b.lock.unlock();
    yield();
    b.lock.lock();
}
// The lock is held before, and not after; `mover` stays set. Both accounts have somebody who keeps them here.
inline charge_status begin_move(buffer_block& b, account& from, account& to) noexcept {
    b.charged = &to;
    b.mover.store(sys::thread_token(), std::memory_order_relaxed);
    b.lock.unlock();
    charge_status s = account::transfer(from, to, b.memory.bytes);
    if (ALLOT_UNLIKELY(!s.charged()) && from.has_ended()) s = to.force_charge(b.memory.bytes);
    if (s.charged()) b.note("transfer", to);
    return s;
}
// By the lock's holder.
inline void end_move(buffer_block& b, account& from, const charge_status& s) noexcept {
    if (!s.charged()) b.charged = &from;
    b.mover.store(0, std::memory_order_release);
}
// The lock is held before, and not after. One that was done ends without it: nobody waits for more than that.
inline charge_status move_charge(buffer_block& b, account& from, account& to) noexcept {
    const charge_status s = begin_move(b, from, to);
    if (ALLOT_LIKELY(s.charged())) end_move(b, from, s);
    else {
        const detail::lock_guard hold(b.lock);
        end_move(b, from, s);
    }
    return s;
}

constexpr charge_status no_memory(std::size_t bytes) noexcept {
    return {charge_outcome::no_memory, nullptr, bytes, 0, 0};
}

// The ledger's account gets a view: its ledger, or null where it cannot be made.
ALLOT_NOINLINE inline buffer_ledger* retain_for(buffer_block& b, account& by) noexcept {
    {
        const detail::lock_guard hold(b.lock);
        if (buffer_ledger* const has = b.view_of(by)) return has;
    }
    auto* const fresh = new (std::nothrow) buffer_ledger{.by = &by, .block = &b};
    if (fresh == nullptr) return nullptr;
    if (!by.count_if_open(counted::buffers)) return delete fresh, nullptr; // before anybody can let go of it
    b.lock.lock();
    buffer_ledger* const has = b.view_of(by);
    if (has == nullptr) b.append(*fresh);
    b.lock.unlock();
    if (has != nullptr) return by.count(counted::buffers, -1), delete fresh, has;
    b.note("retain", by);
    return fresh;
}

// The charge goes to `to` if the ledger's account has it; `to` has a view that stays meanwhile.
inline charge_status transfer_charge(buffer_ledger& from, account& to) noexcept {
    buffer_block& b = *from.block;
    b.lock.lock();
    while (b.charged == from.by && b.is_moved_by_another_thread()) unlock_and_relock(b);
    const bool has_it = b.charged == from.by && from.by != &to, in_a_call = b.is_moving();
    if (has_it && !in_a_call) return move_charge(b, *from.by, to);
    b.lock.unlock();
    if (!has_it) return {};
    return {charge_outcome::misused, &to, b.memory.bytes, 0, 0}; // in a call about this block's charge
}
// Frees the memory, and then takes it off who is charged.
ALLOT_ALWAYS_INLINE void end_block(buffer_block& b) noexcept {
    account& charged = *b.charged;
    const memory_block m = b.memory;
    b.note("end", charged);
    const buffer_source from = b.source;
    const bool foreign = b.is_foreign;
    buffer_records::give(&b);
    if (ALLOT_UNLIKELY(foreign)) from.foreign.release(from.foreign.context, m.address, m.bytes);
    else from.memory.give(m);
    charged.refund(m.bytes);
}
// Ends one whose views are gone; returns another that its mover has to end.
inline buffer_ledger* end_ledger_or_defer(buffer_ledger& gone) noexcept {
    buffer_block& b = *gone.block;
    account& mine = *gone.by;
    const bool own_node = &gone != &b.first;
    buffer_ledger* also = nullptr;
    b.lock.lock();
    while (b.charged == &mine) {
        if (b.is_moved_by_another_thread()) {
            unlock_and_relock(b);
            continue;
        }
        if (b.is_moving()) {
            gone.end_deferred = true;
            b.lock.unlock();
            return nullptr;
        }
        buffer_ledger* const next = b.next_charged(gone);
        if (next == nullptr || next->by == &mine) break;
        const charge_status s = begin_move(b, mine, *next->by);
        b.lock.lock();
        end_move(b, mine, s); // under the lock: until it is given back `next` is there
        if (!s.charged()) next->skipped = true;
        else if (next->end_deferred) also = next;
    }
    b.remove(gone);
    const bool last = b.ledgers == nullptr;
    b.lock.unlock();
    if (own_node) delete &gone;
    mine.count(counted::buffers, -1); // the account may end with it, or, if it is charged, with its last refund
    if (last) end_block(b);
    return also;
}
ALLOT_NOINLINE inline void end_ledger(buffer_ledger& gone) noexcept {
    for (buffer_ledger* l = &gone; l != nullptr;) l = end_ledger_or_defer(*l);
}
// The only view of a block that never had a second ledger: nobody else can come to it, so neither the count nor the
// lock is asked.
inline bool is_sole_view(const buffer_ledger& l) noexcept {
    return l.views.load(std::memory_order_acquire) == 1 && !l.block->was_shared && !l.block->is_moving();
}
ALLOT_NOINLINE inline void end_sole_view(buffer_ledger& l) noexcept {
    l.by->count(counted::buffers, -1); // the account may end with its last refund
    end_block(*l.block);
}
ALLOT_ALWAYS_INLINE void release_view(buffer_ledger& l) noexcept {
    if (is_sole_view(l)) end_sole_view(l);
    else if (ALLOT_UNLIKELY(l.views.fetch_sub(1, std::memory_order_acq_rel) == 1)) end_ledger(l);
}

// Whether the ledger may become that of `to`: it has one view, `to` has none, and no other view could come to it while
// the charge moves. Requires b.lock.
inline bool may_relabel(const buffer_block& b, const buffer_ledger& l, const account& to) noexcept {
    if (l.views.load(std::memory_order_acquire) != 1 || b.is_moving()) return false;
    if (b.charged == l.by && (b.ledgers != &l || l.next != nullptr)) return false;
    for (const buffer_ledger* x = b.ledgers; x != nullptr; x = x->next)
        if (x->by == &to && x->alive()) return false;
    return true;
}
// As transfer_charge, without a second ledger: this one becomes that of `to`, unless the status says that `to` could
// not be charged. False: nothing has changed, and another ledger is needed. Requires that `to` counts this view.
inline bool relabel_counted(buffer_ledger& l, account& to, charge_status& status) noexcept {
    buffer_block& b = *l.block;
    account& from = *l.by;
    b.lock.lock();
    if (!may_relabel(b, l, to)) return b.lock.unlock(), false;
    if (l.next != nullptr) b.remove(l), b.append(l);
    l.by = &to;
    l.skipped = false;
    bool end_it = false; // a call about the move released this very view
    if (b.charged == &from) {
        status = begin_move(b, from, to);
        if (ALLOT_UNLIKELY(!status.charged())) { // it was closed meanwhile, and no listener was called
            const detail::lock_guard again(b.lock);
            l.by = &from;
            end_move(b, from, status);
            return true;
        }
        end_it = l.end_deferred;
        end_move(b, from, status); // another thread may end the block now, if a call gave it a view
    } else {
        b.lock.unlock();
    }
    from.count(counted::buffers, -1); // `from` may end, and report: without the lock
    if (ALLOT_UNLIKELY(end_it)) end_ledger(l);
    return true;
}
inline bool relabel(buffer_ledger& l, account& to, charge_status& status) noexcept {
    if (!to.count_if_open(counted::buffers)) return false;
    const bool done = relabel_counted(l, to, status);
    if (!done || ALLOT_UNLIKELY(!status.charged())) to.count(counted::buffers, -1);
    return done;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
