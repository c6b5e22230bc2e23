// The reclaimers of one tree of accounts, the lowest cost first; the idle memory of its objects is at their head.
//
// One sweep over those of higher costs runs at a time at a level: requests that this level refuses meanwhile wait for
// its end, and try again, so threads that fail together cause one sweep; those of other levels have their own. A
// reclaimer that two of them want is called by one; the other waits for that call. A thread that is inside a call of a
// user's code does not wait. account_steps.hpp says which are called, and when.
// Invariant: a reclaimer is on the list from add() to remove(); no call of it runs after that. Cost: 48 bytes; 32 per
// reclaimer. Threads: any; the mutex of the tree's shape guards the list, and is not held during a call.
// Source: HPCC roxiemem's releaseBuffers, 2011.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/min_max.hpp>
#include <allot/reclaim/cancellation.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/reclaim/shortage.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/sync/called_list.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/parking.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class tree_node;

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

    // `home`: what its memory is charged to. `tells`: called where bytes of it are coming, or no longer. One that is
    // added already is ignored.
    void add(reclaimer& r, const account& home, sys::mutex& mutex, arrival_call tells) noexcept {
        const lock_guard hold(mutex);
        if (list::is_listed(r)) return;
        r.home_ = &home;
        r.tells_ = tells;
        all_.add_locked(r, by_cost{});
        if (r.cost_ != reclaimer::idle) costly_.fetch_add(1, std::memory_order_relaxed);
    }
    // Waits for a call of it that runs on another thread. False: one runs on this thread, or the request is made again
    // behind it; no other begins.
    bool remove(reclaimer& r, sys::mutex& mutex) noexcept {
        return all_.remove(mutex, r, [&] {
            const bool was_listed = list::is_listed(r);
            const bool done = all_.take_off_locked(r);
            if (was_listed && r.cost_ != reclaimer::idle) costly_.fetch_sub(1, std::memory_order_relaxed);
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
    // Bytes that are coming of those that are `asked` there.
    template <class Asked> std::size_t coming(sys::mutex& mutex, Asked asked) const noexcept {
        std::size_t sum = 0;
        if (any_costly())
            visit(mutex, [&](const reclaimer& r, const account& home) { sum += asked(r, home) ? r.coming() : 0; });
        return sum;
    }

    // The first time at which one that is `asked` there tries again by itself; UINT64_MAX: none does.
    template <class Asked> std::uint64_t try_again_at(sys::mutex& mutex, Asked asked) const noexcept {
        std::uint64_t first = UINT64_MAX;
        if (any_costly())
            visit(mutex, [&](const reclaimer& r, const account& home) {
                if (r.cost_ != reclaimer::idle && asked(r, home)) first = min(first, r.tries_again_at());
            });
        return first;
    }

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
    // Requests began to wait for idle memory, or no longer do: for each that is `asked` there.
    template <class Asked> void settle_waits(sys::mutex& mutex, Asked asked) noexcept {
        full_fence(); // the request is counted before it looks which objects rest
        walk idle(*this, mutex);
        while (reclaimer* const it = idle.next([&](const reclaimer& r) {
            return r.cost_ != reclaimer::idle ? walk_step::end : asked(r, *r.home_) ? walk_step::call : walk_step::skip;
        }))
            it->settle_waits();
    }

    // For each that is `asked` there, without a lock.
    template <class Asked> void end_pauses(sys::mutex& mutex, Asked asked) noexcept {
        walk all(*this, mutex);
        while (reclaimer* const it =
                   all.next([&](const reclaimer& r) { return asked(r, *r.home_) ? walk_step::call : walk_step::skip; }))
            it->end_pause();
    }

    // ---- sweeps ----------------------------------------------------------------------------------------------

    // Calls of reclaimers at and below one level, by one thread.
    struct sweep {
        const tree_node* at = nullptr;        // null: others go on
        const reclaimer* slow_call = nullptr; // then: the one whose call lets them
        std::uintptr_t thread = sys::thread_token();
        list_hook<sweep> place;
    };
    // How a sweep begins: not where another one runs there, nor inside a call of this thread's own sweep.
    enum class beginning : std::uint8_t { begun, other_runs, inside_own };

    beginning begin_sweep(sweep& mine, const tree_node& at, sys::mutex& mutex) noexcept {
        check_no_lock_is_held("asks for memory");
        const lock_guard hold(mutex);
        for (const sweep* s = sweeps_.first(); s != nullptr; s = sweeps_.after(*s))
            if (s->thread == mine.thread) return beginning::inside_own;
        if (runs_at(at)) return beginning::other_runs;
        mine.at = &at, mine.slow_call = nullptr;
        sweeps_.add(mine);
        return beginning::begun;
    }
    void end_sweep(sweep& mine, sys::mutex& mutex) noexcept {
        const lock_guard hold(mutex);
        sweeps_.remove(mine);
        wake(mine.at, nullptr);
    }
    // Sleeps until a call has ended in which others went on, and which needs no help of theirs, if one runs. False:
    // none runs, or the wait is over before.
    bool wait_for_call_beside(sys::mutex& mutex, std::uint64_t end, cancellation* ended_by) noexcept {
        bool waited = false;
        const bool ended = wait({}, mutex, end, ended_by, [&] { return waited = runs_beside(); });
        return waited && ended;
    }
    // Of more than idle memory: one call at a time. Under the mutex; false: another sweep calls it now.
    static bool begin_call(const reclaimer& r) noexcept { return !std::exchange(r.is_called_, true); }
    void end_call(const reclaimer& r, sys::mutex& mutex) noexcept {
        const lock_guard hold(mutex);
        r.is_called_ = false;
        wake(nullptr, &r);
    }
    // Inside a call: other sweeps begin at the level, and call the reclaimer, before the call ends; this one does not
    // go on behind it.
    void let_others_go_on(sweep& mine, const reclaimer& called, sys::mutex& mutex) noexcept {
        const lock_guard hold(mutex);
        called.is_called_ = false;
        wake(nullptr, &called);
        mine.slow_call = &called;
        wake(std::exchange(mine.at, nullptr), nullptr);
    }
    // Sleeps until the sweep at this level has ended, or the call of this reclaimer, if it is listed still. False: the
    // wait is over before: by its end (on fine_clock), or a cancellation. Requires: the thread is in no user call.
    bool wait_for_sweep(const tree_node& at, sys::mutex& mutex, std::uint64_t end, cancellation* ended_by) noexcept {
        return wait({.at = &at}, mutex, end, ended_by, [&] { return runs_at(at); });
    }
    bool wait_for_call(const reclaimer& r, sys::mutex& mutex, std::uint64_t end, cancellation* ended_by) noexcept {
        return wait({.called = &r}, mutex, end, ended_by, [&] {
            bool runs = false;
            all_.visit_locked([&](const reclaimer& each) { runs = runs || (&each == &r && each.is_called_); });
            return runs;
        });
    }

  private:
    struct sleeper {
        static constexpr std::uint32_t ended = 1; // a signal
        const tree_node* at = nullptr;
        const reclaimer* called = nullptr;
        sys::parking spot{};
        list_hook<sleeper> place{};
    };
    bool runs_at(const tree_node& at) const noexcept {
        const sweep* s = sweeps_.first();
        while (s != nullptr && s->at != &at) s = sweeps_.after(*s);
        return s != nullptr;
    }
    bool runs_beside() const noexcept {
        const sweep* s = sweeps_.first();
        while (s != nullptr && (s->slow_call == nullptr || !s->slow_call->frees_alone())) s = sweeps_.after(*s);
        return s != nullptr;
    }
    void wake(const tree_node* at, const reclaimer* called) noexcept {
        for (sleeper* s = sleepers_.first(); s != nullptr; s = sleepers_.after(*s))
            if (s->at == at && s->called == called) s->spot.signal(sleeper::ended);
    }
    template <class Runs>
    bool wait(sleeper&& me, sys::mutex& mutex, std::uint64_t end, cancellation* ended_by, Runs runs) noexcept {
        const cancellation::sleeper cancelled{ended_by, me.spot};
        {
            const lock_guard hold(mutex);
            if (!runs()) return true;
            sleepers_.add(me);
        }
        std::uint32_t signals = 0;
        while (!cancelled.is_cancelled() && (signals & sleeper::ended) == 0)
            if ((signals = me.spot.wait_until(end)) == 0) break;
        const lock_guard hold(mutex);
        sleepers_.remove(me);
        return (signals & sleeper::ended) != 0;
    }

    intrusive_list<sweep, &sweep::place> sweeps_;
    intrusive_list<sleeper, &sleeper::place> sleepers_;
    list all_;
    std::atomic<std::uint32_t> costly_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
