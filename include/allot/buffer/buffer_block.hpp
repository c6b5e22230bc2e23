// The state behind a buffer: a block of memory, and a ledger for each account that shares it.
//
//     view, view ... -- ledger of scan (number of views) --+
//     view ------------ ledger of join --------------------+-- block: address, bytes, charged account, list of ledgers
//
// All of it is host memory outside the block, so the block may be a device's. Adding or releasing a view is one atomic
// operation on its ledger's count. Adding or ending a ledger and changing the charged account require the block's lock.
// Invariant: exactly one account is charged for the block until it is freed; a ledger is in the list, by arrival, from
// its first view to its end; its count reaches 0 once, and the thread that did that ends it.
//
// When the last view of the charged account is released, the first of these is charged next, by force:
//   1. the account with views whose ledger arrived first; closed accounts are skipped
//   2. an account whose last view is being released by another thread
//   3. none: the charge stays until the block is freed
// The charge moves without the lock, since listeners are called; `mover` is the moving thread meanwhile. A thread that
// releases the last view of the account that is charged next waits for the move, which waits for nothing. Inside a call
// of the mover's own thread it leaves the end of the ledger to the mover.
// Cost: 104 bytes per block, its first ledger included, 32 for each other ledger. Threads: any.
// Source: Drill's BufferLedger and AllocationManager, 2014, which lock for every release, and let a hash table's order
// decide which account is charged next.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_transfer.hpp>
#include <allot/buffer/block_source.hpp>
#include <allot/buffer/buffer_records.hpp>
#include <allot/config.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// Frees foreign memory. Called once, when the last view of its block is released.
using foreign_release = void (*)(void* context, std::byte* address, std::size_t bytes) noexcept;

namespace detail {

struct buffer_block;

// The views of one account of a block.
struct buffer_ledger {
    std::atomic<std::uint32_t> views{1};
    bool skipped = false;      // could not be charged: its account is closed
    bool end_deferred = false; // its last view was released in a call of the mover, which ends it
    account* by;               // changed by relabel() only, under the lock
    buffer_block* block;
    buffer_ledger* next = nullptr; // the next to arrive

    void check_views() const noexcept {
        constexpr std::uint32_t most = UINT32_MAX - (1 << 16); // other threads may add views meanwhile
        if (views.load(std::memory_order_relaxed) > most)
            report_misuse({.kind = misuse::too_many_views, .heap = by->name()});
    }
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
    buffer_source(const block_source& m) noexcept : memory(m) {}
    buffer_source(const foreign_memory& f) noexcept : foreign(f) {}
    block_source memory;
    foreign_memory foreign;
};

// Where the bytes of a block come from: a source; one whose account lent them, so that the charge returns there; or the
// caller.
enum class block_origin : std::uint8_t { source, pool, foreign };

struct buffer_block {
    memory_block memory;
    account* charged;                     // requires the lock, as all that follows
    std::atomic<std::uintptr_t> mover{0}; // the thread that moves the charge to `charged`; set under the lock
    buffer_ledger* ledgers = nullptr;
    buffer_source source;
    std::atomic<account_log*> log{nullptr};
    basic_spin_lock<lock_rank::block> lock;
    block_origin origin;
    bool host_access;
    bool was_shared = false; // had a second ledger; set once, by an owner of a view of the first
    buffer_ledger first;

    buffer_block(const memory_block& m, account& by, const buffer_source& from, block_origin is, bool host) noexcept
        : memory(m), charged(&by), source(from), origin(is), host_access(host), first{.by = &by, .block = this} {
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
    // Adds a view to the ledger of the account; null if it has none.
    buffer_ledger* view_of(const account& by) noexcept {
        for (buffer_ledger* l = ledgers; l != nullptr; l = l->next)
            if (l->by == &by && l->add_view()) return l;
        return nullptr;
    }
    // The ledger that is charged after `gone`: another one of the same account, else the first with views, else the
    // first that is ending. An ending ledger, and its account, live until its own thread takes the lock.
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
              std::is_trivially_destructible_v<buffer_block>); // its record is freed without a destructor

// What a view consists of: one counted view of the ledger, and bytes of its block. All null: the empty view.
struct raw_view {
    buffer_ledger* ledger = nullptr;
    std::byte* data = nullptr;
    std::size_t size = 0;
};

// Sleeps until the move of another thread has ended, without the lock. Requires it, and that the block stays.
inline void wait_for_mover(buffer_block& b) noexcept {
    const std::uintptr_t by = b.mover.load(std::memory_order_relaxed);
    b.lock.unlock();
    if (by != 0) b.mover.wait(by, std::memory_order_acquire);
    b.lock.lock();
}
// How a charge is moved: even beyond limits, or only where it fits.
enum class move_mode { forced, checked };

// Enter with b.lock held; returns unlocked, with `mover` set. Requires a view or ledger of each account that stays.
// Where `from` has ended, and its charge with it, charges `to` anew, if that may be: a checked charge calls listeners,
// also where it is refused.
inline charge_status begin_move(buffer_block& b, account& from, account& to, move_mode how,
                                bool may_charge_anew = true) noexcept {
    b.charged = &to;
    b.mover.store(sys::thread_token(), std::memory_order_relaxed);
    b.lock.unlock();
    const std::size_t bytes = b.memory.bytes;
    const bool forced = how == move_mode::forced;
    charge_status s = forced ? move(from.node(), to.node(), bytes, charge_mode::forced)
                             : move_or_climb(from.node(), to.node(), bytes);
    if (ALLOT_UNLIKELY(!s.charged()) && may_charge_anew && from.has_ended())
        s = forced ? charge_slow(to.node(), bytes, charge_mode::forced) : to.try_charge(bytes);
    if (s.charged()) b.note("transfer", to);
    return s;
}
// Requires b.lock, or that the charge was moved.
inline void end_move(buffer_block& b, account& from, const charge_status& s) noexcept {
    if (!s.charged()) b.charged = &from;
    b.mover.store(0, std::memory_order_release);
    b.mover.notify_all(); // of its address alone: the block may be gone
}
constexpr charge_status no_memory(std::size_t bytes) noexcept {
    return {.outcome = charge_outcome::no_memory, .requested = bytes};
}

// Frees a block of a pool. It is charged again before it has the block: it may refund it at once.
template <class Source>
ALLOT_NOINLINE void free_lent(const Source& from, const memory_block& m, account& lender, account& charged) noexcept {
    return_to(lender.node(), charged.node(), m.bytes);
    from.give(m);
}
// Frees the block, then refunds the charged account.
ALLOT_ALWAYS_INLINE void end_block(buffer_block& b) noexcept {
    account& charged = *b.charged;
    const memory_block m = b.memory;
    b.note("end", charged);
    const buffer_source from = b.source;
    const block_origin origin = b.origin;
    buffer_records::give(&b);
    if (ALLOT_UNLIKELY(origin == block_origin::pool))
        return free_lent(from.memory, m, *from.memory.lender_to(charged), charged);
    if (ALLOT_UNLIKELY(origin == block_origin::foreign)) from.foreign.release(from.foreign.context, m.address, m.bytes);
    else from.memory.give(m);
    charged.refund(m.bytes);
}
// Ends a ledger without views, or leaves that to the mover. Returns another ledger that this thread must end, or null.
ALLOT_OUTLINE buffer_ledger* end_ledger_or_defer(buffer_ledger& gone) noexcept {
    buffer_block& b = *gone.block;
    account& mine = *gone.by;
    const bool own_node = &gone != &b.first;
    buffer_ledger* also = nullptr;
    b.lock.lock();
    while (b.charged == &mine) {
        if (b.is_moved_by_another_thread()) {
            wait_for_mover(b);
            continue;
        }
        if (b.is_moving()) {
            gone.end_deferred = true;
            b.lock.unlock();
            return nullptr;
        }
        buffer_ledger* const next = b.next_charged(gone);
        if (next == nullptr || next->by == &mine) break;
        const charge_status s = begin_move(b, mine, *next->by, move_mode::forced);
        b.lock.lock();
        end_move(b, mine, s); // `next` lives until the lock is released
        if (!s.charged()) next->skipped = true;
        else if (next->end_deferred) also = next;
    }
    b.remove(gone);
    const bool last = b.ledgers == nullptr;
    b.lock.unlock();
    if (own_node) delete &gone;
    mine.count(counted::buffers, -1); // may end the account, unless it is charged
    if (last) end_block(b);
    return also;
}
ALLOT_NOINLINE inline void end_ledger(buffer_ledger& gone) noexcept {
    for (buffer_ledger* l = &gone; l != nullptr;) l = end_ledger_or_defer(*l);
}
// True: no other thread can reach the block, so its end needs neither the count nor the lock.
inline bool is_sole_view(const buffer_ledger& l) noexcept {
    return l.views.load(std::memory_order_acquire) == 1 && !l.block->was_shared && !l.block->is_moving();
}
ALLOT_OUTLINE void end_sole_view(buffer_ledger& l) noexcept {
    l.by->count(counted::buffers, -1); // the account is charged, so end_block() may end it
    end_block(*l.block);
}
ALLOT_ALWAYS_INLINE void release_view(buffer_ledger& l) noexcept {
    if (is_sole_view(l)) end_sole_view(l);
    else if (ALLOT_UNLIKELY(l.views.fetch_sub(1, std::memory_order_acq_rel) == 1)) end_ledger(l);
}

// Whether the block has other views than `known` ones of the ledger.
inline bool has_other_view(const buffer_ledger& l, std::uint32_t known = 1) noexcept {
    buffer_block& b = *l.block;
    const lock_guard hold(b.lock);
    return b.ledgers->next != nullptr || l.views.load(std::memory_order_acquire) != known;
}
// For tests: whether the ledgers of the view's block are sound, and the view lies in the block.
ALLOT_OUTLINE bool is_valid(const raw_view& v) noexcept {
    if (v.ledger == nullptr) return v.data == nullptr && v.size == 0;
    buffer_block& b = *v.ledger->block;
    const lock_guard hold(b.lock);
    bool listed = false;
    for (const buffer_ledger* l = b.ledgers; l != nullptr; l = l->next) {
        listed = listed || l == v.ledger;
        if (l->block != &b) return false;
        for (const buffer_ledger* x = l->next; x != nullptr; x = x->next)
            if (x == l || (x->by == l->by && x->alive() && l->alive())) return false;
    }
    return listed && v.ledger->alive() && v.data >= b.memory.address &&
           v.data + v.size <= b.memory.address + b.memory.bytes;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
