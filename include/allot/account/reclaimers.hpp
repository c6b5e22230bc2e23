// The reclaimers of one tree of accounts, the lowest cost first; the idle memory of its objects is at their head.
//
// One sweep over those of higher costs runs at a time: requests that are refused meanwhile wait for its end, and try
// again, so threads that fail together cause one sweep. A thread that is inside a call of a user's code does not wait.
// account_steps.hpp says which are called, and when.
// Invariant: a reclaimer is on the list from add() to remove(); no call of it runs after that. Cost: 40 bytes; 32 per
// reclaimer. Threads: any; the mutex of the tree's shape guards the list, and is not held during a call.
// Source: HPCC roxiemem's releaseBuffers, 2011.
#pragma once

#include <allot/config.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/reclaim/shortage.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/sync/called_list.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class reclaimers {
    using list = called_list<reclaimer, &reclaimer::place_>;
    struct by_cost {
        bool operator()(const reclaimer& a, const reclaimer& b) const noexcept { return a.cost_ < b.cost_; }
    };

  public:
    // A class of its own: its name names no private member, which nvcc would refuse where others hold a walk.
    class walk : public list::walk<sys::mutex> {
      public:
        walk(reclaimers& of, sys::mutex& mutex) noexcept : list::walk<sys::mutex>(of.all_, mutex) {}
    };

    reclaimers() = default;
    reclaimers(const reclaimers&) = delete;
    reclaimers& operator=(const reclaimers&) = delete;

    // `home`: what its memory is charged to. One that is added already is ignored.
    void add(reclaimer& r, const account& home, sys::mutex& mutex) noexcept {
        const lock_guard hold(mutex);
        if (list::is_listed(r)) return;
        r.home_ = &home;
        all_.add_locked(r, by_cost{});
        if (r.cost_ != reclaimer::idle) costly_.fetch_add(1, std::memory_order_relaxed);
    }
    // Waits for a call of it that runs on another thread. False: one runs on this thread, or the request is made again
    // behind it; no other begins.
    bool remove(reclaimer& r, sys::mutex& mutex) noexcept {
        return all_.remove(mutex, r, [&] {
            if (list::is_listed(r) && r.cost_ != reclaimer::idle) costly_.fetch_sub(1, std::memory_order_relaxed);
            const bool done = all_.take_off_locked(r);
            if (done) r.home_ = nullptr;
            return done;
        });
    }
    bool empty() const noexcept { return all_.empty(); }
    // Whether there may be one of more than idle memory.
    bool any_costly() const noexcept { return costly_.load(std::memory_order_relaxed) != 0; }
    // Calls visit(const reclaimer&, home) for each, with the mutex held.
    template <class Visit> void visit(sys::mutex& mutex, Visit visit) const noexcept {
        const lock_guard hold(mutex);
        visit_locked(visit);
    }
    template <class Visit> void visit_locked(Visit visit) const noexcept {
        all_.visit_locked([&](const reclaimer& r) { visit(r, *r.home_); });
    }
    static const account& home_of(const reclaimer& r) noexcept { return *r.home_; }

    // ---- calls, without a lock -------------------------------------------------------------------------------

    // Returns what reclaim() returns.
    static bool call(reclaimer& it, const shortage& s) noexcept {
        const std::uint64_t start = sys::fine_clock::now();
        it.calls_.fetch_add(1, std::memory_order_relaxed);
        const bool some = [&] {
            const user_call here{user_call::kind::reclaimer};
            return it.reclaim(s);
        }();
        it.nanoseconds_.fetch_add(sys::fine_clock::now() - start, std::memory_order_relaxed);
        return some;
    }
    static void credit(reclaimer& it, std::size_t bytes) noexcept {
        it.freed_.fetch_add(bytes, std::memory_order_relaxed);
    }
    // It granted the request: those of its cost are called before it the next time.
    void put_behind_equals(reclaimer& it, sys::mutex& mutex) noexcept { all_.move_behind_equals(mutex, it, by_cost{}); }
    // Requests began to wait for idle memory, or no longer do: for each whose home is `below`.
    template <class Below> void settle_waits(sys::mutex& mutex, Below below) noexcept {
        walk idle(*this, mutex);
        while (reclaimer* const it = idle.next([&](const reclaimer& r) {
            return r.cost_ != reclaimer::idle ? walk_step::end : below(*r.home_) ? walk_step::call : walk_step::skip;
        }))
            it->settle_waits();
    }

    // ---- sweeps ----------------------------------------------------------------------------------------------

    // False: another one runs, and this thread must not wait. `waited`: another one has ended.
    bool begin_sweep(bool& waited) noexcept {
        check_no_lock_is_held("asks for memory");
        const std::uintptr_t me = sys::thread_token();
        for (;;) {
            std::uintptr_t is = 0;
            if (sweeper_.compare_exchange_strong(is, me, std::memory_order_acquire)) return true;
            if (user_call::is_inside_any()) return false;
            waited = true;
            sweeper_.wait(is, std::memory_order_relaxed);
        }
    }
    void end_sweep() noexcept {
        sweeper_.store(0, std::memory_order_release);
        sweeper_.notify_all();
    }

  private:
    list all_;
    std::atomic<std::uintptr_t> sweeper_{0}; // the thread of the sweep that runs; 0: none
    std::atomic<std::uint32_t> costly_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
