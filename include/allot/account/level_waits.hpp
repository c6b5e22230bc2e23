// Requests that wait for a level that is no account: a pool's own limit, an arena, what the process gets from outside.
//
// Such a level may serve requests of several trees. What gives it memory signals the first request of each tree that
// waits for it; that one announces it in its tree (account_waiting.hpp), whose order says who tries. So trees are
// signalled in the order in which they began to wait, and the giver locks nothing of a tree.
// A level is known by its kind and its name, so a wait touches nothing of a level, which may end meanwhile. Levels of
// one name wake each other's requests in vain.
// Invariant: no wake-up is lost: a request is added, then made again; a giver looks for requests behind its change.
// Cost: a giver reads one word of the process; while requests wait, it takes the lock and looks at each of them. 72
// bytes a waiter. Threads: any, also under other locks. A child of fork() begins with an empty list.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/parking.hpp>
#include <allot/sys/thread.hpp>
#include <allot/sys/thread_context.hpp>

#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The kinds of levels that are no accounts: bits. The limit of a pool has the name of its private arena.
namespace level_kind {
constexpr std::uint8_t limit = 1, arena = 2;
constexpr std::uint8_t outside = 4; // the system's memory, or a device's: one level for the process

constexpr std::uint8_t of(const charge_status& why) noexcept {
    if (why.by == refuser::limit) return limit;
    if (why.by == refuser::arena && why.outcome != charge_outcome::no_memory) return arena;
    return why.by == refuser::arena || why.by == refuser::device || why.by == refuser::system ? outside : 0;
}
} // namespace level_kind

class level_waits {
  public:
    static constexpr std::uint32_t given = 32; // a signal, beside those of waiters and judges

    // What a request has got and not announced.
    struct news {
        std::uint8_t kinds = 0;
        bool from_others = false; // another thread has given
    };
    // A request that waits, of one thread.
    struct place {
        place(const void* t, const waiter* w, sys::parking& where) noexcept : tree(t), of(w), spot(where) {}
        const void* const tree;
        const waiter* const of;
        sys::parking& spot;
        // ---- requires the lock
        std::uint8_t kinds = 0; // that have refused it
        const char *limit = nullptr, *arena = nullptr;
        news got;
        place *next = nullptr, *before = nullptr;
    };

    // The request waits for one level more. True: for the first one of its kind, so it is to be made again.
    bool add(place& p, const charge_status& why) noexcept {
        const std::uint8_t kind = level_kind::of(why);
        if (const std::uint64_t here = sys::process_number();
            ALLOT_UNLIKELY(process_.load(std::memory_order_acquire) != here))
            begin(here);
        const lock_guard hold(lock_);
        if (p.kinds == 0) {
            p.before = last_;
            (last_ != nullptr ? last_->next : first_) = &p;
            last_ = &p;
            waiting_.fetch_add(1, std::memory_order_seq_cst);
        }
        if (kind == level_kind::arena) p.arena = why.name;
        if (kind == level_kind::limit) p.limit = why.name;
        const bool is_new = (p.kinds & kind) == 0;
        p.kinds |= kind;
        return is_new;
    }
    news take(place& p) noexcept {
        const lock_guard hold(lock_);
        return std::exchange(p.got, {});
    }
    // Requires: it was added. Returns what is to be announced to the others of its tree.
    news remove(place& p) noexcept {
        const lock_guard hold(lock_);
        (p.before != nullptr ? p.before->next : first_) = p.next;
        (p.next != nullptr ? p.next->before : last_) = p.before;
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        return p.got;
    }
    // Levels of these kinds have more than before: call it behind the change, which is seq_cst, or behind a full fence.
    void gave(std::uint8_t kinds, const char* name = nullptr) noexcept {
        if (ALLOT_UNLIKELY(waiting_.load(std::memory_order_seq_cst) != 0)) signal(kinds, name);
    }

  private:
    // The first request of a process: what fork() has left of another one's, whose threads are not here, is forgotten.
    ALLOT_COLD void begin(std::uint64_t here) noexcept {
        std::uint64_t was = process_.load(std::memory_order_acquire);
        if (was != here && was != ~here && process_.compare_exchange_strong(was, ~here, std::memory_order_acquire)) {
            if (lock_.try_lock()) lock_.unlock();
            else new (&lock_) basic_spin_lock<lock_rank::leaf>; // a thread of the parent held it
            first_ = last_ = nullptr;
            waiting_.store(0, std::memory_order_relaxed);
            process_.store(here, std::memory_order_release);
        }
        while (process_.load(std::memory_order_acquire) != here) yield();
    }
    ALLOT_COLD void signal(std::uint8_t kinds, const char* name) noexcept {
        if (process_.load(std::memory_order_acquire) != sys::process_number()) return;
        const lock_guard hold(lock_);
        const auto waits = [&](const place& p) {
            const std::uint8_t here = p.kinds & kinds;
            return (here & level_kind::outside) != 0 || ((here & level_kind::arena) != 0 && p.arena == name) ||
                   ((here & level_kind::limit) != 0 && p.limit == name);
        };
        for (place* p = first_; p != nullptr; p = p->next) {
            if (!waits(*p)) continue;
            const place* head = first_;
            while (head->tree != p->tree || !waits(*head)) head = head->next;
            if (head != p) continue;
            const bool had_some = p->got.kinds != 0;
            p->got.kinds |= kinds;
            p->got.from_others |= p->of != of_this_thread.trying;
            if (!had_some) p->spot.signal(given);
        }
    }

    std::atomic<std::uint32_t> waiting_{0};
    std::atomic<std::uint64_t> process_{0}; // whose requests these are; its complement: the list is being begun
    basic_spin_lock<lock_rank::leaf> lock_;
    place *first_ = nullptr, *last_ = nullptr;
};

// One for all libraries of the process, where the linker shares symbols of default visibility.
ALLOT_SHARED inline level_waits& waits_for_levels() noexcept {
    static level_waits all;
    return all;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
