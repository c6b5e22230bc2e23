// The slots of a heap, through slot caches: fills empty caches from heaplets and frees slots of full ones to them.
//
//   refill()                    page -> group -> stack    a word of free bits, under the heap's lock; single slots
//                                                         where few are free
//   slot_cache::push_to_group() slot -> group             the stack is full; no lock, while slots lie in the group
//   push_apart()                group -> page             under the lock if it is free; half of the stack, where few
//                                                         slots came to the group
//
// So slots in address order pass in groups, others in batches. Only a policy with words of bits has groups; with others
// all slots pass in batches.
// Invariant: that of heap/slot_cache.hpp. Nothing is written into a cache while code outside this library may run.
// Cost: a lock per group of 64 or per batch. Threads: the cache's user, except where a member says otherwise.
// Source: magazines, Bonwick and Adams 2001; rpmalloc's and mimalloc's pages in words of bits.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/heap/slot_cache.hpp>
#include <allot/heap/slot_supply.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/owner_entry.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allot::inline ALLOT_ABI {

template <class Slots, class Guard, class Location> class cache_supply : public slot_supply<Slots, Guard, Location> {
    using supply = slot_supply<Slots, Guard, Location>;

  public:
    using typename supply::page;
    using user_cache = cache_with_deferred_frees<typename supply::deferred_type>;

    // A slot for the user of an empty cache, which is filled; null if out of memory.
    template <class Cache> std::byte* refill(Cache& cache, detail::memory_request& asked) noexcept {
        detail::no_entry entry;
        return refill(cache, entry, asked);
    }
    // The same for a cache that others may enter.
    template <class Cache, class Entry>
    std::byte* refill(Cache& cache, Entry& entry, detail::memory_request& asked) noexcept {
        return fill(cache, cache.slots(), entry, asked);
    }
    // Frees a slot into a cache whose stack is full, and whose group is elsewhere: frees some of its slots to their
    // heaplets. Never waits.
    template <class Cache> void push_apart(Cache& cache, std::byte* row) noexcept {
        make_room_and_push(cache, cache.slots(), row);
    }
    // Frees the oldest n slots of the stack, and the group, to their heaplets. Never waits.
    template <class Cache> void spill(Cache& cache, std::size_t n) noexcept { spill(cache, cache.slots(), n); }
    ALLOT_NOINLINE void spill(user_cache& cache, std::byte** slots, std::size_t n) noexcept {
        if (lock_.try_lock()) {
            const detail::lock_guard hold(lock_, detail::adopt_lock);
            put_group(cache, true);
            if (n != 0) this->put_locked(slots, n, cache.deferred);
            cache.drop_oldest(slots, n);
        } else {
            put_group(cache, false);
            if (n != 0) this->put(slots, n, cache.deferred);
            cache.drop_oldest(slots, n);
        }
    }
    // Frees all slots of a cache and counts its deferred frees, with the lock: usage() finds each slot in the cache or
    // free.
    template <class Cache> void flush(Cache& cache) noexcept {
        const detail::lock_guard hold(lock_);
        put_all_locked(cache, cache.slots());
    }

    // The most slots that the stack of a cache with an array of `capacity` slots may hold: two batches.
    std::uint32_t cache_limit(std::size_t capacity) const noexcept {
        return 2 * (batch_ < capacity / 2 ? batch_ : static_cast<std::uint32_t>(capacity / 2));
    }
    // Registered caches, except the heap's shared ones.
    std::size_t users() noexcept {
        const detail::lock_guard hold(lock_);
        return users_ - own_caches;
    }

  protected:
    using supply::lock_, supply::provider_;

    static constexpr bool groups = requires(typename Slots::in_page& s) { s.put_group(0, 0); };
    static constexpr std::size_t own_caches = 4; // the heap's shared ones

    using supply::supply;
    ~cache_supply() override = default;

    void set_batch() noexcept {
        // A batch is at most a 16th of a page, but a quarter of one where that is at most 16 KiB.
        const std::size_t whole = provider_.page_bytes(), quarter = whole / 4 < 16384 ? whole / 4 : 16384;
        const std::size_t fit = (whole / 16 > quarter ? whole / 16 : quarter) / this->cut_.stride;
        batch_ = static_cast<std::uint32_t>(fit < 1 ? 1 : fit > most_batch ? most_batch : fit);
    }
    // Sets an empty cache up for the heap's slots. `group_capacity`: that of a cache whose groups it takes.
    void limit(user_cache& cache, std::size_t capacity, std::size_t group_capacity) noexcept {
        cache.limit = cache_limit(capacity);
        cache.batch = static_cast<std::uint32_t>(cache.limit / 2);
        // Two batches are as many as a full stack holds; a small batch means large slots, or a caller's own number.
        const std::uint32_t group = std::bit_floor(batch_), most = group < 16 ? group : 2 * group;
        cache.group_slots = group_capacity < 2 * most_batch ? std::bit_floor(cache.batch) : most;
        cache.reciprocal = this->cut_.reciprocal;
        cache.set_group(nullptr, 0, 0); // an empty group of another cut would take slots in its range
    }
    void join(user_cache& cache, std::size_t capacity, std::size_t group_capacity) noexcept {
        limit(cache, capacity, group_capacity);
        const detail::lock_guard hold(lock_);
        caches_.add(cache);
        ++users_;
    }
    // Requires lock_.
    void remove(user_cache& cache) noexcept {
        caches_.remove(cache);
        --users_;
    }
    // Frees all slots of a cache. Requires lock_.
    void put_all_locked(user_cache& cache, std::byte* const* slots) noexcept {
        if (cache.size() != 0) supply::put_locked(slots, cache.size());
        cache.set_size(0);
        put_group(cache, true);
        cache.deferred.flush(this->locked_count_callback());
    }
    // Free slots in caches, and those whose frees they defer. Requires lock_.
    std::size_t in_caches() noexcept {
        std::size_t n = 0;
        for (slot_cache_base* c = caches_.first(); c != nullptr; c = caches_.after(*c))
            n += c->count() + deferred(*c).pending();
        return n;
    }
    std::uint32_t uncounted(page& p) noexcept {
        std::uint32_t n = 0;
        for (slot_cache_base* c = caches_.first(); c != nullptr; c = caches_.after(*c))
            n += deferred(*c).pending(p.base());
        return n;
    }
    // Calls visit(page, slot) for the slots in caches, whose users may work meanwhile. Requires lock_.
    template <class Visit> void visit_cached(Visit visit) noexcept {
        for (slot_cache_base* c = caches_.first(); c != nullptr; c = caches_.after(*c))
            c->visit_while_used(this->cut_.stride, [&](std::byte* slot) {
                if (this->has_page_of(slot)) visit(this->page_of_slot(slot), slot);
            });
    }
    // Takes up to n slots that are free and in no page, before a request fails; returns their number.
    virtual std::size_t take_waiting(std::byte** out, std::size_t n) noexcept = 0;

    std::size_t users_ = 0; // caches, the heap's shared ones included; protected by lock_

  private:
    static constexpr std::uint32_t most_batch = 32;

    static std::uint64_t bit(std::uint32_t at) noexcept { return std::uint64_t{1} << at; }
    static const auto& deferred(const slot_cache_base& cache) noexcept {
        return static_cast<const user_cache&>(cache).deferred;
    }

    // Where refill() puts slots: see slot_supply::take_slots. It goes into the cache for each step alone, since a
    // listener, or another thread, may use the cache while a page is requested. Without entry it takes one slot.
    template <class Entry> struct cache_place {
        cache_supply& heap;
        user_cache& cache;
        std::byte** slots;
        Entry& entry;
        std::byte* row = nullptr;

        bool has_slots() noexcept {
            if (entry.enter()) {
                if (cache.size() == 0 && cache.bits() != 0) cache.unpack(slots, heap.cut_.stride);
                pop();
                entry.leave();
            }
            return row != nullptr;
        }
        bool claim_freed(page& p) noexcept {
            if (!entry.enter()) return heap.supply::claim_freed(p, &row, 1) == 1;
            fill_from_freed(p);
            entry.leave();
            return row != nullptr;
        }
        void claim_untouched(page& p) noexcept {
            if (!entry.enter()) {
                row = heap.begin_slots(p, 1);
                return;
            }
            fill_from_untouched(p);
            entry.leave();
        }
        bool free_more() noexcept {
            if (!entry.enter()) return false;
            const bool some = cache.deferred.flush(heap.count_callback());
            entry.leave();
            return some;
        }
        bool find_waiting() noexcept { return has_slots() || heap.take_waiting(&row, 1) == 1; }

      private:
        void pop() noexcept {
            const std::size_t n = cache.size();
            if (n == 0) return;
            row = slots[n - 1];
            cache.set_size(n - 1);
        }
        void fill_from_freed(page& p) noexcept {
            if constexpr (groups) {
                std::uint32_t at = 0;
                if (const std::uint64_t bits = p.slots.claim_group(cache.group_slots, cache.batch / 2, at)) {
                    heap.claimed(p, count_bits(bits));
                    return give(p, at, bits);
                }
            }
            cache.set_size(heap.supply::claim_freed(p, slots, cache.batch));
            pop();
        }
        void fill_from_untouched(page& p) noexcept {
            const std::uint32_t fresh = p.fresh.load(std::memory_order_relaxed), left = p.cut.capacity - fresh;
            if constexpr (groups) {
                const std::uint32_t from = fresh & (cache.group_slots - 1);
                const std::uint32_t n = cache.group_slots - from < left ? cache.group_slots - from : left;
                heap.begin_slots(p, n);
                give(p, fresh - from, ~std::uint64_t{0} >> (64 - n) << from);
            } else {
                const std::uint32_t n = cache.batch < left ? cache.batch : left;
                std::byte* slot = heap.begin_slots(p, n);
                for (std::uint32_t i = n; i-- != 0; slot += heap.cut_.stride) slots[i] = slot;
                cache.set_size(n);
                pop();
            }
        }
        void give(page& p, std::uint32_t first, std::uint64_t bits) noexcept {
            set_group(cache, p, first, bits);
            cache.unpack(slots, heap.cut_.stride);
            pop();
        }
    };

    template <class Entry>
    ALLOT_NOINLINE std::byte* fill(user_cache& cache, std::byte** slots, Entry& entry,
                                   detail::memory_request& asked) noexcept {
        cache_place<Entry> place{*this, cache, slots, entry};
        // It may have slots: its bins are hidden while others are inside, and from an owner that must fence.
        const bool empty = cache.size() == 0 && cache.bits() == 0;
        if (empty || !place.has_slots()) this->take_slots(place, asked);
        return place.row;
    }
    ALLOT_NOINLINE void make_room_and_push(user_cache& cache, std::byte** slots, std::byte* row) noexcept {
        if (const std::uint32_t now = provider_.heaps().shortages(); ALLOT_UNLIKELY(cache.shortages != now)) {
            cache.shortages = now;
            spill(cache, slots, cache.size()); // memory was short meanwhile
            return push_to_stack(cache, slots, row);
        }
        if constexpr (groups) {
            const std::uint64_t bits = cache.bits();
            const std::uint32_t n = count_bits(bits);
            if (n == 0 || (n > 1 && n >= cache.group_slots / 8)) {
                if (n != 0) free_group(cache, bits);
                return open_group(cache, row);
            }
        }
        spill(cache, slots, cache.batch); // few slots came to the group: they come in no order
        push_to_stack(cache, slots, row);
    }
    static void push_to_stack(user_cache& cache, std::byte** slots, std::byte* row) noexcept {
        slots[cache.size()] = row;
        cache.set_size(cache.size() + 1);
    }
    void free_group(user_cache& cache, std::uint64_t bits) noexcept {
        if (lock_.try_lock()) {
            const detail::lock_guard hold(lock_, detail::adopt_lock);
            cache.set_bits(0);
            supply::put_group_locked(cache.first(), bits);
        } else {
            supply::put_group(cache.first(), bits);
        }
    }
    void open_group(user_cache& cache, std::byte* row) noexcept {
        page& p = this->page_of_slot(row);
        const std::uint32_t at = p.index(row), from = at & (cache.group_slots - 1);
        set_group(cache, p, at - from, bit(from));
    }
    static void set_group(user_cache& cache, page& p, std::uint32_t first, std::uint64_t bits) noexcept {
        const std::uint32_t left = p.cut.capacity - first, slots = left < cache.group_slots ? left : cache.group_slots;
        cache.set_group(p.row(first), std::size_t{slots} * p.cut.stride, bits);
    }
    void put_group(user_cache& cache, [[maybe_unused]] bool locked) noexcept {
        if constexpr (groups) {
            const std::uint64_t bits = cache.bits();
            if (bits == 0) return;
            cache.set_bits(0);
            if (locked) supply::put_group_locked(cache.first(), bits);
            else supply::put_group(cache.first(), bits);
        }
    }

    std::uint32_t batch_ = 1;
    intrusive_list<slot_cache_base, &slot_cache_base::in_heap> caches_; // protected by lock_
};

} // namespace allot::inline ALLOT_ABI
