// A level that is no account, and that accounts of several trees may share: an arena, a device, the system. Its tenants
// hold memory there, and requests that it refuses wait there. The limit of an object itself has the level of its pages.
//
// What gives it memory signals one request of each tree that waits there. That one announces it in its tree
// (account_waiting.hpp), whose order says who tries. So the giver locks nothing of a tree. While a request waits that
// is not patient the caches of all tenants are shut, of each tree, so what becomes unused is seen. A request waits
// inside a call of the product that the level refused: so the level outlives it.
// Invariant: no wake-up is lost: a request is added, then made again; a giver looks for requests behind its change.
// Cost: 80 bytes a level, 264 a waiter; a giver reads one word, and while requests wait it looks at each.
// Threads: any, also under other locks. A child of fork() finds no request that waits.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/request/tenant.hpp>
#include <allot/sync/called_objects.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/parking.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class shared_level {
  public:
    static constexpr std::uint32_t given = 32; // a signal, beside those of waiters and judges

    // What a request has got, and has not announced in its tree.
    enum class news : std::uint8_t { none, own, of_others }; // own: the thread of the request has given it
    // A request that waits here, of one thread.
    struct place {
        sys::parking* spot = nullptr;
        const void* group = nullptr; // of those of one group one is signalled: its tree
        std::uintptr_t thread = 0;   // of the request
        list_hook<place> hook;
        bool leads = false; // its group: it is signalled
        bool shuts = false; // it is not patient
        news got = news::none;
    };

    // `unseen`: memory is freed there without a call of gave(), as by other processes: requests look from time to time.
    explicit shared_level(const char* name, bool unseen = false) noexcept : name_(name), unseen_(unseen) {}
    shared_level(const shared_level&) = delete;
    shared_level& operator=(const shared_level&) = delete;

    const char* name() const noexcept { return name_; }
    bool is_freed_unseen() const noexcept { return unseen_; }

    // ---- tenants: with no lock held

    bool has_tenants() const noexcept { return !tenants_.empty(); }
    void add(tenant& t) noexcept {
        tenants_.add(t);
        settle(t); // requests may wait already
    }
    void remove(tenant& t) noexcept {
        tenants_.remove(t); // waits for a call of it
        static_cast<void>(t.settle(t.is_shut_here_, [] { return false; }));
    }
    template <class Call> void each_tenant(Call call) noexcept { tenants_.for_each(call); }
    // Shuts the caches of all tenants, or opens them, as requests wait now.
    void settle_tenants() noexcept {
        tenants_.for_each([this](tenant& t) { settle(t); });
    }

    // ---- requests

    // A request waits. True: it is the first one for which caches are shut: settle_tenants().
    ALLOT_OUTLINE_WARM bool add(place& p) noexcept {
        if (const std::uint64_t here = sys::process_number();
            ALLOT_UNLIKELY(process_.load(std::memory_order_acquire) != here))
            begin(here);
        const lock_guard hold(lock_);
        p.leads = one_of(p.group) == nullptr;
        all_.add(p);
        waiting_.fetch_add(1, std::memory_order_seq_cst);
        return p.shuts && shutting_.fetch_add(1, std::memory_order_seq_cst) == 0;
    }
    // It waits no longer. True: caches are shut for no request any more.
    bool remove(place& p) noexcept {
        const lock_guard hold(lock_);
        all_.remove(p);
        if (p.leads)
            if (place* const heir = one_of(p.group)) heir->leads = true;
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        return p.shuts && shutting_.fetch_sub(1, std::memory_order_seq_cst) == 1;
    }
    news take_news(place& p) noexcept {
        const lock_guard hold(lock_);
        return std::exchange(p.got, news::none);
    }
    // It has more than before, or what it has not is unused: call it behind the change, which is seq_cst, or behind a
    // full fence.
    void gave() noexcept {
        if (ALLOT_UNLIKELY(is_waited_for())) signal();
    }
    bool is_waited_for() const noexcept { return waiting_.load(std::memory_order_seq_cst) != 0; }

  private:
    place* one_of(const void* group) const noexcept {
        place* p = all_.first();
        while (p != nullptr && p->group != group) p = all_.after(*p);
        return p;
    }
    bool is_of_this_process() const noexcept {
        return process_.load(std::memory_order_acquire) == sys::process_number();
    }
    void settle(tenant& t) noexcept {
        static_cast<void>(t.settle(t.is_shut_here_, [this] {
            return shutting_.load(std::memory_order_seq_cst) != 0 && is_of_this_process();
        }));
    }
    // The first request of a process: what fork() has left of another one's, whose threads are not here, is forgotten.
    ALLOT_COLD void begin(std::uint64_t here) noexcept {
        std::uint64_t was = process_.load(std::memory_order_acquire);
        if (was != here && was != ~here && process_.compare_exchange_strong(was, ~here, std::memory_order_acquire)) {
            if (lock_.try_lock()) lock_.unlock();
            else new (&lock_) spin_lock; // a thread of the parent held it
            all_.clear();
            waiting_.store(0, std::memory_order_relaxed);
            shutting_.store(0, std::memory_order_relaxed);
            process_.store(here, std::memory_order_release);
        }
        while (process_.load(std::memory_order_acquire) != here) yield();
    }
    ALLOT_OUTLINE_COLD void signal() noexcept {
        if (!is_of_this_process()) return;
        const std::uintptr_t mine = sys::thread_token();
        const lock_guard hold(lock_);
        for (place* p = all_.first(); p != nullptr; p = all_.after(*p)) {
            if (!p->leads) continue;
            const news had = p->got;
            if (p->thread != mine) p->got = news::of_others;
            else if (had == news::none) p->got = news::own;
            if (had == news::none) p->spot->signal(given);
        }
    }

    const char* const name_;
    const bool unseen_;
    std::atomic<std::uint32_t> waiting_{0}, shutting_{0};
    std::atomic<std::uint64_t> process_{0}; // whose requests these are; its complement: the list is being begun
    called_objects<tenant, &tenant::place_> tenants_;
    spin_lock lock_; // of the list
    intrusive_list<place, &place::hook> all_;
};

// What no limit of the library bounds: the system's memory. Its tenants are all arenas. One for all libraries of the
// process, where the linker shares symbols.
ALLOT_SHARED inline shared_level& the_system() noexcept {
    static shared_level all{"the system", true};
    return all;
}

// The shared levels that one request waits for: those that have refused it, up to `most`.
class shared_waits {
  public:
    static constexpr unsigned most = 4;

    shared_waits(sys::parking& spot, bool shuts) noexcept {
        for (entry& e : all_) e.place.spot = &spot, e.place.thread = sys::thread_token(), e.place.shuts = shuts;
    }
    shared_waits(const shared_waits&) = delete;
    shared_waits& operator=(const shared_waits&) = delete;

    bool has(const shared_level& at) const noexcept {
        for (unsigned i = 0; i != n_; ++i)
            if (all_[i].at == &at) return true;
        return false;
    }
    // True: it did not wait there yet, so it is to be made again, behind settle(). One more than can be is left out.
    bool add(shared_level& at, const void* group) noexcept {
        if (n_ == most || has(at)) return false;
        entry& e = all_[n_++];
        e.at = &at, e.place.group = group;
        return e.settles = at.add(e.place), true;
    }
    // Calls announce(level, news) for each that has some.
    template <class Announce> void take_news(Announce announce) noexcept {
        for (unsigned i = 0; i != n_; ++i)
            if (const shared_level::news got = all_[i].at->take_news(all_[i].place); got != shared_level::news::none)
                announce(*all_[i].at, got);
    }
    // The same, and it waits no longer; settle() follows.
    template <class Announce> void remove(Announce announce) noexcept {
        for (unsigned i = 0; i != n_; ++i) {
            entry& e = all_[i];
            e.settles = e.at->remove(e.place) || e.settles;
            if (e.place.got != shared_level::news::none) announce(*e.at, e.place.got);
        }
    }
    // Shuts or opens caches, where that has changed, with no lock held.
    void settle() noexcept {
        for (unsigned i = 0; i != n_; ++i)
            if (std::exchange(all_[i].settles, false)) all_[i].at->settle_tenants();
    }

  private:
    struct entry {
        shared_level* at = nullptr;
        shared_level::place place;
        bool settles = false;
    };
    entry all_[most];
    unsigned n_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
