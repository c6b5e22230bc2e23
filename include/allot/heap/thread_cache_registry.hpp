// What each thread has of an object, found by itself: heap::per_thread's caches of a row manager, or of a chunk arena.
//
//   a thread's table: 16 groups of 4 places, the group by the object's address
//   a place:          an owner (a row manager) | how often it was used here | its part for the thread, from the 32nd
//   use on
//
// Before its 32nd use, and where its group is full of owners that are used more, a thread has no part: it goes to what
// all share. So a thread that meets thousands of owners has room for 64 of them, whatever their number, and those are
// the ones that it uses most. When the thread ends its parts end; when the owner goes first, they are cut off and
// forgotten by the threads. Part and owner meet under the owner's lock, so neither order of ending touches memory of
// the other.
// Invariant: what the threads share of an owner outlives every place that has a part of it; of other places the
// address is compared, no more.
// Cost: a thread-local load and a compare; 1.5 KiB a thread and kind of owner, 250 bytes and its part for each of 64
// owners at most, those that have ended included until the thread makes a part again.
// Threads: any. A release never makes a part, nor waits. What a library that is unloaded must do stands in
// docs/rules.md.
// Source: tcmalloc's thread caches, 2005; who gets a place: Misra and Gries 1982, second chance, Corbato 1968.
#pragma once

#include <allot/config.hpp>
#include <allot/core/hash.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The owner that the thread used last, and its part of it. Constant at first and without a destructor, so that
// reading it is one load, and it can be read to the thread's very end.
enum class thread_table : unsigned char { unused, open, ended };
template <class Part> struct last_used {
    const void* registry = nullptr;
    Part* part = nullptr;
    thread_table table = thread_table::unused;
};
template <class Part> inline constinit thread_local last_used<Part> last_here{};

// What the threads of an owner share; outlives whichever of them ends first. A Part is made from its owner, and close()
// gives back what it has; nobody uses it any more then.
template <class Owner, class Part> class thread_cache_registry {
  public:
    struct entry {
        explicit entry(Owner& owner) noexcept : part(owner) {}
        Part part;
        list_place<entry> in_registry;
    };

    explicit thread_cache_registry(Owner& owner) noexcept : owner_(&owner) {}

    // The calling thread's part; null when there is no memory for it, or the thread is ending.
    ALLOT_ALWAYS_INLINE Part* here() noexcept {
        const last_used<Part>& last = last_here<Part>;
        return ALLOT_LIKELY(last.registry == this) ? last.part : here_slow();
    }
    // The same without making them: null when the thread has none. For release, which must not wait or allocate.
    ALLOT_ALWAYS_INLINE Part* known() noexcept {
        const last_used<Part>& last = last_here<Part>;
        return ALLOT_LIKELY(last.registry == this) ? last.part : known_slow();
    }

    // Visits every thread's part; none of them ends meanwhile.
    template <class Visit> void for_each(Visit visit) noexcept {
        const lock_guard hold(lock_);
        for (entry* e = entries_.first(); e != nullptr; e = entries_.after(*e)) visit(e->part);
    }
    // The owner goes: what its threads have of it is given back.
    static void close(thread_cache_registry* registry) noexcept {
        {
            const lock_guard hold(registry->lock_);
            for (entry* e = registry->entries_.first(); e != nullptr; e = registry->entries_.after(*e)) e->part.close();
            registry->closed_.store(true, std::memory_order_release);
        }
        registry->drop();
    }

  private:
    static constexpr std::uint32_t uses_before_part = 32; // uses that make an owner worth a part
    static constexpr std::size_t groups = 16, places_per_group = 4;

    struct place {
        thread_cache_registry* registry = nullptr;
        entry* part_entry = nullptr; // null: `registry` may be gone
        std::uint32_t uses = 0;      // until there is a part
        bool recent = false;         // used since somebody looked for a place
    };
    // A thread's places; none before the first use, and when memory is short.
    struct table {
        place* places = nullptr;

        ~table() {
            last_here<Part> = last_used<Part>{nullptr, nullptr, thread_table::ended};
            if (places == nullptr) return;
            for (std::size_t i = 0; i < groups * places_per_group; ++i) clear(places[i]);
            delete[] places;
        }
        place* group_of(const thread_cache_registry* registry) noexcept {
            const auto at = reinterpret_cast<std::uintptr_t>(registry);
            return places + multiplicative_hash(at, 60) * places_per_group;
        }
    };
    static_assert(groups == 16, "four bits of a hash");
    static table& this_thread() noexcept {
        static thread_local table t;
        return t;
    }
    static void clear(place& p) noexcept {
        if (p.part_entry != nullptr) {
            if (last_here<Part>.registry == p.registry)
                last_here<Part> = last_used<Part>{nullptr, nullptr, last_here<Part>.table};
            p.registry->leave(*p.part_entry);
        }
        p = {};
    }

    ALLOT_NOINLINE Part* known_slow() noexcept {
        // Also in a destructor of a thread-local that runs after the table's.
        if (last_here<Part>.table != thread_table::open) return nullptr;
        place* const group = this_thread().group_of(this);
        for (std::size_t i = 0; i < places_per_group; ++i)
            if (group[i].registry == this) return group[i].part_entry != nullptr ? remember(group[i]) : nullptr;
        return nullptr;
    }
    Part* remember(place& p) noexcept {
        p.recent = true;
        last_here<Part> = last_used<Part>{this, &p.part_entry->part, thread_table::open};
        return &p.part_entry->part;
    }
    ALLOT_NOINLINE Part* here_slow() noexcept {
        if (last_here<Part>.table == thread_table::ended) return nullptr;
        table& t = this_thread();
        if (t.places == nullptr && (t.places = new (std::nothrow) place[groups * places_per_group]) == nullptr)
            return nullptr;
        last_here<Part>.table = thread_table::open;
        place* const p = place_in(t.group_of(this));
        if (p == nullptr) return nullptr;
        if (p->part_entry == nullptr) {
            if (p->uses < uses_before_part && ++p->uses < uses_before_part) return nullptr;
            forget_closed(t);
            p->part_entry = new (std::nothrow) entry(*owner_);
            if (p->part_entry == nullptr) return nullptr;
            join(*p->part_entry);
        }
        return remember(*p);
    }
    // This owner's place in its group; null while the others are used more.
    place* place_in(place* group) noexcept {
        for (std::size_t i = 0; i < places_per_group; ++i)
            if (group[i].registry == this) return &group[i];
        place* least = nullptr; // of those without a part
        for (std::size_t i = 0; i < places_per_group; ++i)
            if (group[i].part_entry == nullptr && (least == nullptr || group[i].uses < least->uses)) least = &group[i];
        if (least != nullptr) {
            if (least->uses > 1) { // worn down by each who comes
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
    // The places of owners that have gone.
    static void forget_closed(table& t) noexcept {
        for (std::size_t i = 0; i < groups * places_per_group; ++i)
            if (place& p = t.places[i]; p.part_entry != nullptr && p.registry->closed_.load(std::memory_order_acquire))
                clear(p);
    }

    void join(entry& e) noexcept {
        references_.fetch_add(1, std::memory_order_relaxed);
        const lock_guard hold(lock_);
        entries_.add(e);
    }
    void leave(entry& e) noexcept {
        {
            const lock_guard hold(lock_);
            entries_.remove(e);
            e.part.close(); // gives back what it has, if the owner did not make it do so before
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
    spin_lock lock_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
