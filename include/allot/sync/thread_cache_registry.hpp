// The caches that threads have of an owner (a row manager or a chunk arena) under heap::per_thread.
//
//   a thread's table: 16 groups of 4 places; the group is chosen by the owner's address
//   a place:          an owner | uses by this thread | the thread's cache of it, from the 32nd use on
//
// A thread has no cache of an owner before its 32nd use, while the owner owes much (account/books.hpp), while the group
// is full of owners that it uses more, or while most_caches() other threads have one; it then uses the owner's shared
// caches. A cache ends with its thread; if the owner ends first, it closes the cache, and the thread frees it later.
// Both take the registry's lock, so thread and owner may end in either order.
// Invariant: the registry outlives every place with a cache of it; in a place without one its address is only compared.
// Cost: a thread-local load and a compare; 1.5 KiB per thread and type of owner; 250 bytes and the cache for each of at
// most 64 owners per thread, ended owners included until the thread makes its next cache.
// Threads: any. A release never makes a cache and never waits. For libraries that are unloaded see docs/rules.md.
// Source: tcmalloc's thread caches, 2005; replacement: Misra and Gries 1982, second chance (Corbato 1968).
#pragma once

#include <allot/config.hpp>
#include <allot/core/hash.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/min_max.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/owner_entry.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/map.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/process_fence.hpp>
#include <allot/sys/thread_end.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The first base of a thread's cache: the registry that it is of, and how others enter it.
struct thread_cache_base : owner_entry {
    const void* registry = nullptr;
};
inline constinit thread_cache_base no_thread_cache;

// The cache that the thread used last. Constant-initialized and without a destructor: a read is one load, also while
// the thread ends.
enum class thread_table : unsigned char { unused, open, ended };
template <class Cache> struct last_used {
    thread_cache_base* cache = &no_thread_cache;
    thread_table table = thread_table::unused;
};
template <class Cache> inline constinit thread_local last_used<Cache> last_here{};

// All thread caches of one owner. Reference-counted: it lives until the owner and every thread with a cache have let
// go. Cache(Owner&) makes a cache, with thread_cache_base as its first base; its close() frees what it holds, and
// it is not used after that.
template <class Owner, class Cache> class thread_cache_registry {
  public:
    struct entry {
        entry(Owner& owner, const thread_cache_registry& of) noexcept : cache(owner) { cache.registry = &of; }
        Cache cache;
        list_hook<entry> in_registry;
    };

    explicit thread_cache_registry(Owner& owner) noexcept : owner_(&owner) {}

    // Whether the calling thread used this registry last; then `cache` is its cache. False for an address that is no
    // registry's.
    ALLOT_ALWAYS_INLINE static bool is_last(const void* registry, Cache*& cache) noexcept {
        thread_cache_base* const last = last_here<Cache>.cache;
        if (ALLOT_UNLIKELY(last->registry != registry)) return false;
        cache = static_cast<Cache*>(last);
        return true;
    }
    // The calling thread's cache; makes it when it is due. Null: not due, out of memory, or the thread is ending.
    ALLOT_ALWAYS_INLINE Cache* here() noexcept {
        Cache* cache = nullptr;
        return ALLOT_LIKELY(is_last(this, cache)) ? cache : here_slow();
    }
    // The same, but never makes one: for release, which must not wait or allocate.
    ALLOT_ALWAYS_INLINE Cache* known() noexcept {
        Cache* cache = nullptr;
        return ALLOT_LIKELY(is_last(this, cache)) ? cache : known_slow();
    }

    // Whether known() may find a cache, of this registry or another.
    ALLOT_ALWAYS_INLINE static bool any_known() noexcept { return last_here<Cache>.table == thread_table::open; }

    // The most caches of an owner: more threads do not run at the same time, and a shortage visits every cache.
    static std::size_t most_caches() noexcept {
        static const std::size_t most = max(min_caches, caches_per_processor * sys::processors());
        return most;
    }

    // Visits every thread's cache with lock_ held, so that none of them ends meanwhile.
    template <class Visit> void for_each(Visit visit) noexcept {
        const lock_guard hold(lock_);
        each_locked(visit);
    }
    // Empties the caches of all threads, without their help: those that joined before. Requires that this thread is in
    // no cache.
    ALLOT_OUTLINE_OF(thread_cache_registry) void empty_all() noexcept {
        const lock_guard alone(emptying_);
        if (!shut_) static_cast<void>(block_and_empty(false));
    }
    // While they are shut, the caches are empty, and their owners are blocked. As empty_all() else. Returns: whether
    // they are empty.
    ALLOT_OUTLINE_OF(thread_cache_registry) bool set_shut(bool now) noexcept {
        const lock_guard alone(emptying_);
        if (now) return block_and_empty(true);
        const lock_guard hold(lock_);
        shut_ = false;
        each_locked([](Cache& cache) { cache.unblock_owner(); });
        return false;
    }
    // Call when the owner ends: closes all caches and drops the owner's reference.
    ALLOT_OUTLINE_OF(thread_cache_registry) static void close(thread_cache_registry* registry) noexcept {
        {
            const lock_guard hold(registry->lock_);
            for (entry* e = registry->entries_.first(); e != nullptr; e = registry->entries_.after(*e))
                e->cache.close();
            registry->closed_.store(true, std::memory_order_release);
        }
        registry->drop();
    }

  private:
    static constexpr std::uint32_t uses_before_cache = 32;
    static constexpr std::size_t groups = 16, places_per_group = 4;
    static constexpr std::size_t min_caches = 32, caches_per_processor = 8;

    struct place {
        thread_cache_registry* registry = nullptr;
        entry* cached = nullptr; // null: `registry` may be deleted already
        std::uint32_t uses = 0;  // counted until the place has a cache
        bool recent = false;     // remembered since find_or_take_place() last cleared it
    };
    static_assert(groups == 16, "allot: group_of() takes 4 bits of a hash, so there must be 16 groups");
    // Of this thread; null before the first use and when out of memory.
    static place*& places_here() noexcept {
        static constinit thread_local place* places = nullptr;
        return places;
    }
    static bool open_table() noexcept {
        place* const made = new (std::nothrow) place[groups * places_per_group];
        if (made == nullptr || !sys::at_thread_end<&end>(made)) return delete[] made, false;
        places_here() = made;
        last_here<Cache>.table = thread_table::open;
        return true;
    }
    ALLOT_OUTLINE_OF(thread_cache_registry) static void end(void* table) noexcept {
        last_here<Cache> = {&no_thread_cache, thread_table::ended};
        auto* const places = static_cast<place*>(table);
        for (std::size_t i = 0; i < groups * places_per_group; ++i) clear(places[i]);
        delete[] places;
    }
    // Requires an open table.
    place* group_here() const noexcept {
        return places_here() + multiplicative_hash(reinterpret_cast<std::uintptr_t>(this), 60) * places_per_group;
    }
    static void clear(place& p) noexcept {
        if (p.cached != nullptr) {
            if (last_here<Cache>.cache == &p.cached->cache) last_here<Cache>.cache = &no_thread_cache;
            p.registry->leave(*p.cached);
        }
        p = {};
    }

    ALLOT_OUTLINE_OF(thread_cache_registry) ALLOT_NOINLINE Cache* known_slow() noexcept {
        if (!any_known()) return nullptr;
        place* const group = group_here();
        for (std::size_t i = 0; i < places_per_group; ++i)
            if (group[i].registry == this) return group[i].cached != nullptr ? remember(group[i]) : nullptr;
        return nullptr;
    }
    Cache* remember(place& p) noexcept {
        p.recent = true;
        last_here<Cache> = {&p.cached->cache, thread_table::open};
        return &p.cached->cache;
    }
    // This thread's cache for the owner, made at its `uses_before_cache`-th use; null: the thread ends, or there is no
    // memory or place, or the owner was used too seldom.
    ALLOT_OUTLINE_OF(thread_cache_registry) ALLOT_NOINLINE Cache* here_slow() noexcept {
        if (last_here<Cache>.table == thread_table::ended) return nullptr;
        if (places_here() == nullptr && !open_table()) return nullptr;
        place* const p = find_or_take_place(group_here());
        if (p == nullptr) return nullptr;
        if (p->cached == nullptr) {
            if (p->uses < uses_before_cache && ++p->uses < uses_before_cache) return nullptr;
            if constexpr (requires { owner_->books(); })
                if (owner_->books().owes_much()) return nullptr;
            if (has_enough()) return nullptr;
            forget_closed();
            p->cached = new (std::nothrow) entry(*owner_, *this);
            if (p->cached == nullptr) return nullptr;
            join(*p->cached);
        }
        return remember(*p);
    }
    bool has_enough() const noexcept {
        const std::size_t caches = references_.load(std::memory_order_relaxed) - 1;
        return caches >= min_caches && caches >= most_caches();
    }
    // This registry's place in its group. Else the least used one there without a cache, once newcomers have brought
    // its uses down to 1; where all have caches, one that was not remembered since the last look, whose cache ends.
    // Null: none can be taken yet.
    place* find_or_take_place(place* group) noexcept {
        for (std::size_t i = 0; i < places_per_group; ++i)
            if (group[i].registry == this) return &group[i];
        place* least = nullptr; // the least used place without a cache
        for (std::size_t i = 0; i < places_per_group; ++i)
            if (group[i].cached == nullptr && (least == nullptr || group[i].uses < least->uses)) least = &group[i];
        if (least != nullptr) {
            if (least->uses > 1) { // each newcomer lowers it by one (Misra and Gries)
                --least->uses;
                return nullptr;
            }
        } else {
            for (std::size_t i = 0; i < places_per_group; ++i)
                if (!std::exchange(group[i].recent, false)) least = &group[i];
            if (least == nullptr) return nullptr;
        }
        clear(*least);
        least->registry = this;
        return least;
    }
    // Clears the places of closed registries.
    static void forget_closed() noexcept {
        for (std::size_t i = 0; i < groups * places_per_group; ++i)
            if (place& p = places_here()[i]; p.cached != nullptr && p.registry->closed_.load(std::memory_order_acquire))
                clear(p);
    }

    // Blocks every owner, fences, then empties each cache whose owner is seen to be outside. `shut`: the owners stay
    // blocked. A cache that joins behind the first loop is empty. Returns: false where one could not be emptied.
    // Requires emptying_.
    bool block_and_empty(bool shut) noexcept {
        Cache* const mine = known();
        bool others = false;
        {
            const lock_guard hold(lock_);
            shut_ = shut;
            each_locked([&](Cache& cache) {
                cache.block_owner();
                others = others || &cache != mine;
            });
        }
        full_fence();                                       // with owners that fence
        const bool fenced = others && sys::process_fence(); // with those that do not
        bool all = true;
        for_each([&](Cache& cache) {
            if (!cache.is_blocked()) return; // it has joined since
            // Else its owner, which does not fence, may not see yet that it is blocked: the cache stays as it is.
            if (fenced || cache.fences() || &cache == mine) {
                cache.wait_for_owner();
                cache.empty();
            } else {
                all = false;
            }
            if (!shut) cache.unblock_owner();
        });
        return all;
    }
    // Requires lock_.
    template <class Visit> void each_locked(Visit visit) noexcept {
        for (entry* e = entries_.first(); e != nullptr; e = entries_.after(*e)) visit(e->cache);
    }
    void join(entry& e) noexcept {
        references_.fetch_add(1, std::memory_order_relaxed);
        const lock_guard hold(lock_);
        entries_.add(e);
        if (shut_) e.cache.block_owner();
    }
    void leave(entry& e) noexcept {
        {
            const lock_guard hold(lock_);
            entries_.remove(e);
            e.cache.close(); // does nothing if the owner closed it before
        }
        delete &e;
        drop();
    }
    void drop() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    Owner* owner_;
    std::atomic<std::size_t> references_{1};
    std::atomic<bool> closed_{false};
    intrusive_list<entry, &entry::in_registry> entries_;
    basic_spin_lock<lock_rank::threads> lock_;
    sys::mutex emptying_{lock_rank::thread_caches}; // taken before lock_; `shut_` is written under both
    bool shut_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
