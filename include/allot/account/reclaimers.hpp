// The reclaimers of one tree of accounts, and sweeps: calls of them until a request is granted.
//
// One sweep runs at a time; requests that are refused meanwhile wait for its end and try again, so threads that fail
// together cause one sweep. Sweeps of idle memory alone do not wait. A thread that is inside a call never waits for a
// sweep: its requests are refused.
//   pass 1       lowest cost first, the same cost in turn; again while something is freed
//   pass 2       critical, where the cap allows more than idle memory
// After each call that freed something the request is tried again, and once more after each return of memory that the
// call left unused: what is freed is measured, never summed up.
// Invariant: a reclaimer is not unlinked while a call of it runs. Cost: 32 bytes. Threads: any; the owner's mutex guards
// the list, and is not held during a call. Source: HPCC roxiemem's releaseBuffers, 2011: one spill per shortage.
#pragma once

#include <allot/account/cost_groups.hpp>
#include <allot/config.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/reclaim/shortage.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// After its call: what idle memory returns then counts for it.
inline constinit thread_local reclaimer* credited_by_this_thread = nullptr;

class reclaimers {
  public:
    reclaimers() = default;
    reclaimers(const reclaimers&) = delete;
    reclaimers& operator=(const reclaimers&) = delete;

    // `home`: what its memory is charged to, for Level::holds(). One that is added already is ignored.
    void add(reclaimer& r, const void* home, sys::mutex& mutex) noexcept {
        mutex.lock();
        r.leaving_ = false;
        if (r.home_ == nullptr) {
            r.home_ = home;
            r.pass_ = last_pass(r.cost_ == reclaimer::idle);
            groups_.add(r);
            count_.fetch_add(1, std::memory_order_relaxed);
        }
        mutex.unlock();
    }
    // Waits for a call of it that runs on another thread. False: a call of it runs on this thread, or the request is
    // made again behind it; no other begins.
    bool remove(reclaimer& r, sys::mutex& mutex) noexcept {
        for (;; yield()) {
            mutex.lock();
            r.leaving_ = true;
            const bool runs = r.running_ != 0;
            if (!runs && r.home_ != nullptr) unlink(r);
            mutex.unlock();
            if (!runs) return true;
            if (credited_by_this_thread == &r || user_call::is_inside(&r)) return false;
        }
    }
    // Checked builds report one that is left at its home's end. Requires the mutex.
    void check_none_at(const void* home) const noexcept {
        if constexpr (ALLOT_CHECKED != 0)
            for (const reclaimer* r = groups_.first(0); r != nullptr; r = groups_.after(*r))
                if (r->home_ == home) report_misuse({.kind = misuse::living_reclaimer, .heap = r->name_});
    }
    bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }
    // Calls visit(const reclaimer&) for those whose memory counts at the level, the lowest cost first.
    template <class Level, class Visit> void visit(const Level& level, sys::mutex& mutex, Visit visit) const noexcept {
        mutex.lock();
        for (const reclaimer* r = groups_.first(0); r != nullptr; r = groups_.after(*r))
            if (level.holds(r->home_)) visit(*r);
        mutex.unlock();
    }

    // Makes a request again that was refused, until it is granted or no reclaimer can free more. `Level` is what
    // refused: holds(home) says, with the mutex held, whether memory of that home counts there, used() is its bytes,
    // and still_refuses() whether the request was refused there the last time, and may be granted. Requires that the
    // thread holds no lock.
    template <class Level, class Request>
    bool serve(const Level& level, shortage s, const reclaimer* but, sys::mutex& mutex, Request request) noexcept {
        check_no_lock_is_held("asks for memory");
        if (empty()) return false;
        if (s.most_cost == reclaimer::idle) return sweep(level, s, but, mutex, request);
        if (!begin_sweep()) return false;
        const bool granted = request() || sweep(level, s, but, mutex, request); // the last sweep may have freed enough
        sweeper_.store(0, std::memory_order_release);
        sweeper_.notify_all();
        return granted;
    }

    // Requests began to wait at the level, or no longer do. As serve() else.
    template <class Level> void settle_waits(const Level& level, sys::mutex& mutex) noexcept {
        each(level, shortage{.why = {}, .most_cost = reclaimer::idle}, nullptr, mutex, true,
             [](reclaimer& it) { return it.settle_waits(), false; });
    }

    // Idle memory that counts at the level is returned, though nothing was refused. As serve() else.
    template <class Level> void return_idle(const Level& level, const shortage& s, sys::mutex& mutex) noexcept {
        bool freed = false;
        each(level, s, nullptr, mutex, true, [&](reclaimer& it) { return call(it, level, s, freed), false; });
    }

  private:
    static constexpr unsigned max_in_vain = 8; // passes after which others have taken what was freed

    // False: another sweep runs, and this thread is inside a call, so it must not wait.
    bool begin_sweep() noexcept {
        const std::uintptr_t me = sys::thread_token();
        for (;;) {
            std::uintptr_t is = 0;
            if (sweeper_.compare_exchange_strong(is, me, std::memory_order_acquire)) return true;
            if (calls_of_this_thread != nullptr) return false;
            sweeper_.wait(is, std::memory_order_relaxed);
        }
    }
    template <class Level, class Request>
    bool sweep(const Level& level, shortage& s, const reclaimer* but, sys::mutex& mutex, Request request) noexcept {
        bool freed = true;
        for (unsigned in_vain = 0; freed && in_vain != max_in_vain && level.still_refuses();) {
            const std::size_t before = level.used();
            freed = false;
            if (idle_pass(level, s, but, mutex, request, freed)) return true;
            if (s.most_cost != reclaimer::idle && pass(level, s, but, mutex, request, freed)) return true;
            if (level.used() >= before) ++in_vain;
        }
        if (s.most_cost == reclaimer::idle || !level.still_refuses()) return false;
        s.critical = true;
        return pass(level, s, but, mutex, request, freed);
    }
    // Those of cost 0.
    template <class Level, class Request>
    bool idle_pass(const Level& level, const shortage& s, const reclaimer* but, sys::mutex& mutex, Request request,
                   bool& freed) noexcept {
        return each(level, s, but, mutex, true, [&](reclaimer& it) { return call(it, level, s, freed) && request(); });
    }
    // Those of higher costs. A call may leave slots and blocks unused in other objects: their pages are returned next,
    // and count for it.
    template <class Level, class Request>
    bool pass(const Level& level, const shortage& s, const reclaimer* but, sys::mutex& mutex, Request request,
              bool& freed) noexcept {
        return each(level, s, but, mutex, false, [&](reclaimer& it) {
            if (!call(it, level, s, freed)) return false;
            credited_by_this_thread = &it;
            const bool done = request() || idle_pass(level, s, but, mutex, request, freed);
            credited_by_this_thread = nullptr;
            return done;
        });
    }
    // Does what(reclaimer) for those of cost 0, or of higher costs, that may help, without the mutex, until one returns
    // true.
    template <class Level, class What>
    bool each(const Level& level, const shortage& s, const reclaimer* but, sys::mutex& mutex, bool idle,
              What what) noexcept {
        mutex.lock();
        const std::uint32_t now = ++last_pass(idle), most = idle ? reclaimer::idle : s.most_cost;
        for (reclaimer* r = groups_.first(idle ? reclaimer::idle : 1); r != nullptr && r->cost_ <= most;) {
            reclaimer& it = *r;
            const bool comes_first = std::exchange(it.pass_, now) != now; // else called, or added in a call
            if (comes_first && &it != but && !it.leaving_ && level.holds(it.home_) && it.helps(s)) {
                ++it.running_;
                mutex.unlock();
                const bool done = what(it), goes_on = !done && level.still_refuses();
                mutex.lock();
                --it.running_;
                if (!goes_on) {
                    if (done) groups_.rotate_behind(it);
                    mutex.unlock();
                    return done;
                }
            }
            r = groups_.after(it);
        }
        mutex.unlock();
        return false;
    }
    // Whether it freed something.
    template <class Level>
    static bool call(reclaimer& it, const Level& level, const shortage& s, bool& freed) noexcept {
        const std::size_t before = level.used();
        const std::uint64_t start = sys::fine_clock::now();
        it.calls_.fetch_add(1, std::memory_order_relaxed);
        const bool some = [&] {
            const user_call here{&it};
            return it.reclaim(s);
        }();
        it.nanoseconds_.fetch_add(sys::fine_clock::now() - start, std::memory_order_relaxed);
        const std::size_t after = level.used();
        reclaimer& credited = credited_by_this_thread != nullptr ? *credited_by_this_thread : it;
        if (after < before) credited.freed_.fetch_add(before - after, std::memory_order_relaxed);
        const bool less = some || after < before;
        freed = freed || less;
        return less;
    }
    // Two, since idle memory is returned inside a pass over the others.
    std::uint32_t& last_pass(bool idle) noexcept { return last_pass_[idle ? 0 : 1]; }
    void unlink(reclaimer& r) noexcept {
        groups_.remove(r);
        r.home_ = nullptr;
        count_.fetch_sub(1, std::memory_order_relaxed);
    }

    cost_groups groups_;
    std::atomic<std::uintptr_t> sweeper_{0}; // the thread of the sweep that runs; 0: none
    std::uint32_t last_pass_[2]{};           // that began; requires the mutex
    std::atomic<std::uint32_t> count_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
