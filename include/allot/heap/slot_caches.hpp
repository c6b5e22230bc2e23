// A slot_store with caches in front: registered caches, the heap's 4 shared ones, and the quarantine. They hold free
// slots that no page counts, are filled from the store's pages, and free slots to them.
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
// Cost: a lock per group of 64 or per batch; 64 bytes and the shared caches per heap.
// Threads: the cache's user, except where a member says otherwise.
// Source: magazines, Bonwick and Adams 2001; rpmalloc's and mimalloc's pages in words of bits.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/heap/slot_cache.hpp>
#include <allot/heap/slot_store.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/owner_entry.hpp>
#include <allot/sync/shared_caches.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Store> class slot_caches {
  public:
    using page = typename Store::page;
    using deferred_type = typename Store::deferred_type;
    using user_cache = cache_with_deferred_frees<deferred_type>;
    using shared_cache = slot_cache<32, deferred_type>;

    // `heap`: of which they are a part.
    slot_caches(page_provider& provider, const heap_config& config, heap_base& heap) noexcept
        : store_(provider, config, heap) {
        set_batch();
        for (auto& shared : shared_.all()) {
            shared.cache.stack = shared.cache.slots();
            join(shared.cache, shared.cache.capacity, groups_of_shared);
        }
    }
    slot_caches(const slot_caches&) = delete;
    slot_caches& operator=(const slot_caches&) = delete;

    // Makes them the caches and the store of another config. Requires the store's lock, no pages, and an unused heap.
    void configure(const heap_config& config) noexcept {
        store_.configure(config);
        set_batch();
        for (auto& shared : shared_.all()) limit(shared.cache, shared.cache.capacity, groups_of_shared);
    }

    Store& store() noexcept { return store_; }
    const Store& store() const noexcept { return store_; }

    // ---- caches of users --------------------------------------------------------------------------------------------

    // Registers a cache; call before its first use. leave(), after its last, flushes and removes it.
    template <class Cache> void adopt(Cache& cache, std::size_t capacity) noexcept {
        cache.stack = cache.slots();
        join(cache, capacity, capacity);
        store_.provider().record(watch_event::handle_opened, store_.cut().stride, store_.config().name);
    }
    template <class Cache> void leave(Cache& cache) noexcept {
        flush(cache);
        store_.provider().record(watch_event::handle_closed, store_.cut().stride, store_.config().name);
        const detail::lock_guard hold(store_.lock());
        caches_.remove(cache);
        --users_;
        if (is_abandoned()) store_.note_empty(); // it may be idle now
    }
    // Registered caches, except the heap's shared ones. Requires the store's lock.
    std::size_t users() const noexcept { return users_ - shared_type::count; }

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
        if (store_.lock().try_lock()) {
            const detail::lock_guard hold(store_.lock(), detail::adopt_lock);
            put_group(cache, true);
            if (n != 0) store_.put_locked(slots, n, cache.deferred);
            cache.drop_oldest(slots, n);
        } else {
            put_group(cache, false);
            if (n != 0) store_.put(slots, n, cache.deferred);
            cache.drop_oldest(slots, n);
        }
    }
    // Frees all slots of a cache and counts its deferred frees, with the lock: usage() finds each slot in the cache or
    // free.
    template <class Cache> void flush(Cache& cache) noexcept {
        const detail::lock_guard hold(store_.lock());
        put_all_locked(cache, cache.slots());
    }

    // The most slots that the stack of a cache with an array of `capacity` slots may hold: two batches.
    std::uint32_t cache_limit(std::size_t capacity) const noexcept {
        return 2 * (batch_ < capacity / 2 ? batch_ : static_cast<std::uint32_t>(capacity / 2));
    }

    // ---- callers without a cache ------------------------------------------------------------------------------------

    // A slot of a shared cache, without a call; null: pop() may have one.
    ALLOT_ALWAYS_INLINE std::byte* pop_cached() noexcept {
        std::byte* row = nullptr;
        if (auto borrowed = shared_.borrow())
            if (ALLOT_UNLIKELY(!borrowed->pop(row))) return nullptr;
        return row;
    }
    // One slot; null if out of memory.
    ALLOT_ALWAYS_INLINE std::byte* pop(detail::memory_request& asked) noexcept {
        if (auto borrowed = shared_.borrow()) {
            std::byte* row;
            return ALLOT_LIKELY(borrowed->pop(row)) ? row : refill_shared(borrowed.in(), asked);
        }
        return take_one(asked);
    }
    // Frees one slot. Never waits: if the shared caches it tries are in use, it frees the slot to its heaplet.
    // `slow(cache)`: calls push_slow(row, cache). The caller does it, so that no address is computed before it is
    // needed.
    template <class Slow> ALLOT_ALWAYS_INLINE void push(std::byte* row, Slow slow) noexcept {
        // past_caches_ is read with the cache borrowed: flush_shared() borrows each cache after it was set.
        if (auto borrowed = shared_.borrow();
            borrowed && ALLOT_LIKELY(past_caches_.load(std::memory_order_relaxed) == 0)) {
            if (ALLOT_UNLIKELY(!borrowed->push(row)))
                if (!borrowed->push_to_group(row)) slow(&*borrowed);
            return;
        }
        slow(nullptr);
    }
    // Into a shared cache, as push_apart(); without one, to its heaplet.
    ALLOT_NOINLINE void push_slow(std::byte* row, shared_cache* cache) noexcept {
        if (cache == nullptr) store_.put_one(row);
        else make_room_and_push(*cache, cache->slots(), row);
    }
    // Puts a released row into the quarantine and frees the slot of the row that leaves it.
    void hold(std::byte* row) noexcept {
        if constexpr (Store::guard_type::waits != 0) {
            store_.guards().enter_quarantine(store_.layout(), row, past_caches_, [this](std::byte* out) {
                push(out, [&](shared_cache* cache) { push_slow(out, cache); });
            });
            store_.report_damage();
        }
    }

    // ---- releases past the caches -----------------------------------------------------------------------------------

    // Why releases go past shared caches and quarantine.
    static constexpr std::uint8_t abandoned = 1; // without handles: keeps no empty page
    static constexpr std::uint8_t shut = 2;      // requests wait for memory of the group
    bool is_abandoned() const noexcept { return (past_caches_.load(std::memory_order_acquire) & abandoned) != 0; }
    void set_past_caches(std::uint8_t why, bool now) noexcept {
        if (now) past_caches_.fetch_or(why, std::memory_order_seq_cst);
        else past_caches_.fetch_and(static_cast<std::uint8_t>(~why), std::memory_order_seq_cst);
    }
    // Releases from now on go past the caches. Those that began before are waited for; a thread that fills a cache is
    // not, since it may call other code: it empties the cache.
    ALLOT_OUTLINE_OF(slot_caches) void flush_shared() noexcept {
        full_fence(); // as in borrowed::end_fill()
        for (auto& shared : shared_.all())
            if (auto borrowed = shared_.wait_for(shared)) flush(*borrowed);
    }

    // ---- walks through quarantine and shared caches, one at a time --------------------------------------------------

    // Waits for walk_lock(). False: the owner is releasing all rows.
    bool lock_walk() noexcept {
        walk_lock_.lock();
        if (!releasing_all_.load(std::memory_order_relaxed)) return true;
        walk_lock_.unlock();
        return false;
    }
    // Taken before the store's lock.
    auto& walk_lock() noexcept { return walk_lock_; }
    // The owner is releasing all rows: no walks, and no page is collected. Requires the store's lock; to begin,
    // walk_lock() too.
    void set_releasing_all(bool now) noexcept { releasing_all_.store(now, std::memory_order_release); }
    bool is_releasing_all() const noexcept { return releasing_all_.load(std::memory_order_relaxed); }
    // For a forced reclaim: frees the slots that wait in no page, of the quarantine and of shared caches that no thread
    // uses now. Requires walk_lock().
    void free_waiting() noexcept {
        store_.guards().drain_quarantine(store_.layout(), store_.lock(),
                                         [this](std::byte* const* rows, std::size_t n) { store_.put_locked(rows, n); });
        for (auto& shared : shared_.all())
            if (auto borrowed = shared_.borrow(shared)) flush(*borrowed);
    }
    // Forgets these slots; call before the store drops its pages. No other thread may use the heap meanwhile.
    void forget_waiting() noexcept {
        store_.guards().drain_quarantine(store_.layout(), store_.lock(), [](std::byte* const*, std::size_t) {});
        store_.report_damage();
        for (auto& shared : shared_.all()) {
            shared.cache.clear();
            shared.cache.deferred.clear();
        }
    }

    // ---- what caches hold -------------------------------------------------------------------------------------------

    // Free slots that no heaplet counts: in caches, in the quarantine, and those whose frees caches defer. Requires the
    // store's lock, as the next ones.
    std::size_t count() noexcept {
        std::size_t n = store_.guards().quarantined();
        for (slot_cache_base* c = caches_.first(); c != nullptr; c = caches_.after(*c))
            n += c->count() + deferred(*c).pending();
        return n;
    }
    // Slots of a page whose frees caches defer.
    std::uint32_t uncounted(page& p) noexcept {
        std::uint32_t n = 0;
        for (slot_cache_base* c = caches_.first(); c != nullptr; c = caches_.after(*c))
            n += deferred(*c).pending(p.base());
        return n;
    }
    // Calls visit(page, slot) for the slots in caches, whose users may work meanwhile.
    template <class Visit> void visit_cached(Visit visit) noexcept {
        for (slot_cache_base* c = caches_.first(); c != nullptr; c = caches_.after(*c))
            c->visit_while_used(store_.cut().stride, [&](std::byte* slot) {
                if (store_.has_page_of(slot)) visit(store_.page_of_slot(slot), slot);
            });
    }

  private:
    using shared_type = shared_caches<shared_cache>;
    using shared_place = typename shared_type::place;
    static constexpr bool groups = Store::groups;
    static constexpr std::uint32_t most_batch = 32;
    static constexpr std::size_t groups_of_shared = 64; // those of a handle's cache

    void set_batch() noexcept {
        // A batch is at most a 16th of a page, but a quarter of one where that is at most 16 KiB.
        const std::size_t whole = store_.provider().page_bytes(), quarter = whole / 4 < 16384 ? whole / 4 : 16384;
        const std::size_t fit = (whole / 16 > quarter ? whole / 16 : quarter) / store_.cut().stride;
        batch_ = static_cast<std::uint32_t>(fit < 1 ? 1 : fit > most_batch ? most_batch : fit);
    }
    // Sets an empty cache up for the heap's slots. `group_capacity`: that of a cache whose groups it takes.
    void limit(user_cache& cache, std::size_t capacity, std::size_t group_capacity) noexcept {
        cache.limit = cache_limit(capacity);
        cache.batch = static_cast<std::uint32_t>(cache.limit / 2);
        // Two batches are as many as a full stack holds; a small batch means large slots, or a caller's own number.
        const std::uint32_t group = std::bit_floor(batch_), most = group < 16 ? group : 2 * group;
        cache.group_slots = group_capacity < 2 * most_batch ? std::bit_floor(cache.batch) : most;
        cache.reciprocal = store_.cut().reciprocal;
        cache.set_group(nullptr, 0, 0); // an empty group of another cut would take slots in its range
    }
    void join(user_cache& cache, std::size_t capacity, std::size_t group_capacity) noexcept {
        limit(cache, capacity, group_capacity);
        const detail::lock_guard hold(store_.lock());
        caches_.add(cache);
        ++users_;
    }
    // Frees all slots of a cache. Requires the store's lock.
    ALLOT_OUTLINE_OF(slot_caches) void put_all_locked(user_cache& cache, std::byte* const* slots) noexcept {
        if (cache.size() != 0) store_.put_locked(slots, cache.size());
        cache.set_size(0);
        put_group(cache, true);
        cache.deferred.flush(store_.locked_count_callback());
    }

    static std::uint64_t bit(std::uint32_t at) noexcept { return std::uint64_t{1} << at; }
    static const auto& deferred(const slot_cache_base& cache) noexcept {
        return static_cast<const user_cache&>(cache).deferred;
    }

    // Where refill() puts slots: see slot_store::take_slots. It goes into the cache for each step alone, since a
    // listener, or another thread, may use the cache while a page is requested. What lies there by then is used first,
    // never written over. Without entry it takes one slot.
    template <class Entry> struct cache_place {
        slot_caches& caches;
        user_cache& cache;
        std::byte** slots;
        Entry& entry;
        std::byte* row = nullptr;

        // Takes a slot that is in the cache by now; false: none.
        bool take_cached() noexcept {
            if (entry.enter()) {
                pop();
                entry.leave();
            }
            return row != nullptr;
        }
        bool claim_freed(page& p) noexcept {
            if (!entry.enter()) return caches.store_.claim_freed(p, &row, 1) == 1;
            if (ALLOT_LIKELY(is_empty())) fill_from_freed(p);
            else pop();
            entry.leave();
            return row != nullptr;
        }
        void claim_untouched(page& p) noexcept {
            if (!entry.enter()) {
                row = caches.store_.begin_slots(p, 1);
                return;
            }
            if (ALLOT_LIKELY(is_empty())) fill_from_untouched(p);
            else pop();
            entry.leave();
        }
        bool free_more() noexcept {
            if (!entry.enter()) return false;
            const bool some = cache.deferred.flush(caches.store_.count_callback());
            entry.leave();
            return some;
        }
        bool find_waiting() noexcept { return caches.take_waiting(&row, 1) == 1; }

      private:
        // Its user finds in take_cached() all that came. One who was kept out has not looked.
        bool is_empty() const noexcept { return std::is_same_v<Entry, detail::no_entry> || cache.is_empty(); }
        void pop() noexcept {
            if (cache.size() == 0 && cache.bits() != 0) cache.unpack(slots, caches.store_.cut().stride);
            pop_stack();
        }
        void pop_stack() noexcept {
            const std::size_t n = cache.size();
            if (n == 0) return;
            row = slots[n - 1];
            cache.set_size(n - 1);
        }
        void fill_from_freed(page& p) noexcept {
            if constexpr (groups) {
                std::uint32_t at = 0;
                if (const std::uint64_t bits = p.slots.claim_group(cache.group_slots, cache.batch / 2, at)) {
                    caches.store_.claimed(p, count_bits(bits));
                    return use_group(p, at, bits);
                }
            }
            cache.set_size(caches.store_.claim_freed(p, slots, cache.batch));
            pop_stack();
        }
        void fill_from_untouched(page& p) noexcept {
            const std::uint32_t fresh = p.fresh.load(std::memory_order_relaxed), left = p.cut.capacity - fresh;
            if constexpr (groups) {
                const std::uint32_t from = fresh & (cache.group_slots - 1);
                const std::uint32_t n = cache.group_slots - from < left ? cache.group_slots - from : left;
                caches.store_.begin_slots(p, n);
                use_group(p, fresh - from, ~std::uint64_t{0} >> (64 - n) << from);
            } else {
                const std::uint32_t n = cache.batch < left ? cache.batch : left;
                std::byte* slot = caches.store_.begin_slots(p, n);
                for (std::uint32_t i = n; i-- != 0; slot += caches.store_.cut().stride)
                    slots[i] = slot; // the lowest is used first
                cache.set_size(n);
                pop_stack();
            }
        }
        // Puts a group of slots of the page into the cache, and one of them into `row`.
        void use_group(page& p, std::uint32_t first, std::uint64_t bits) noexcept {
            set_group(cache, p, first, bits);
            cache.unpack(slots, caches.store_.cut().stride);
            pop_stack();
        }
    };

    template <class Entry>
    ALLOT_NOINLINE std::byte* fill(user_cache& cache, std::byte** slots, Entry& entry,
                                   detail::memory_request& asked) noexcept {
        cache_place<Entry> place{*this, cache, slots, entry};
        // The caller may not have seen slots that are here: others were inside the cache (row_bins::show_bins).
        if (cache.is_empty() || !place.take_cached()) store_.take_slots(place, asked);
        return place.row;
    }
    ALLOT_OUTLINE_OF(slot_caches)
    ALLOT_NOINLINE void make_room_and_push(user_cache& cache, std::byte** slots, std::byte* row) noexcept {
        if (const std::uint32_t now = store_.provider().heaps().shortages(); ALLOT_UNLIKELY(cache.shortages != now)) {
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
        if (store_.lock().try_lock()) {
            const detail::lock_guard hold(store_.lock(), detail::adopt_lock);
            cache.set_bits(0);
            store_.put_group_locked(cache.first(), bits);
        } else {
            store_.put_group(cache.first(), bits);
        }
    }
    void open_group(user_cache& cache, std::byte* row) noexcept {
        page& p = store_.page_of_slot(row);
        const std::uint32_t at = p.index(row), from = at & (cache.group_slots - 1);
        set_group(cache, p, at - from, bit(from));
    }
    static void set_group(user_cache& cache, page& p, std::uint32_t first, std::uint64_t bits) noexcept {
        const std::uint32_t left = p.cut.capacity - first, slots = left < cache.group_slots ? left : cache.group_slots;
        cache.set_group(p.row(first), std::size_t{slots} * p.cut.stride, bits);
    }
    ALLOT_OUTLINE_OF(slot_caches) void put_group(user_cache& cache, [[maybe_unused]] bool locked) noexcept {
        if constexpr (groups) {
            const std::uint64_t bits = cache.bits();
            if (bits == 0) return;
            cache.set_bits(0);
            if (locked) store_.put_group_locked(cache.first(), bits);
            else store_.put_group(cache.first(), bits);
        }
    }

    // Where one slot is put: see slot_store::take_slots.
    struct one_place {
        slot_caches& caches;
        std::byte* row = nullptr;

        bool take_cached() const noexcept { return false; }
        bool claim_freed(page& p) noexcept { return caches.store_.claim_freed(p, &row, 1) == 1; }
        void claim_untouched(page& p) noexcept { row = caches.store_.begin_slots(p, 1); }
        bool free_more() noexcept { return false; }
        bool find_waiting() noexcept { return caches.take_waiting(&row, 1) == 1; }
    };
    // Takes one slot, bypassing all caches.
    ALLOT_OUTLINE_OF(slot_caches) ALLOT_NOINLINE std::byte* take_one(detail::memory_request& asked) noexcept {
        one_place place{*this};
        store_.take_slots(place, asked);
        return place.row;
    }
    // Takes up to n slots that are free and in no page, before a request fails: from the quarantine, and from shared
    // caches that no thread uses now. Returns their number.
    ALLOT_OUTLINE_OF(slot_caches) std::size_t take_waiting(std::byte** out, std::size_t n) noexcept {
        if (!lock_walk()) return 0;
        const detail::lock_guard walk(walk_lock_, detail::adopt_lock);
        std::size_t got = store_.guards().leave_quarantine(store_.layout(), out, n);
        for (auto& shared : shared_.all())
            if (auto borrowed = shared_.borrow(shared))
                while (got != n && (borrowed->pop(out[got]) || pop_unpacked(*borrowed, out[got]))) ++got;
        return got;
    }
    template <class Cache> bool pop_unpacked(Cache& cache, std::byte*& row) noexcept {
        if (cache.bits() == 0) return false;
        cache.unpack(cache.slots(), store_.cut().stride);
        return cache.pop(row);
    }
    // Fills a shared cache; while releases go past it, it stays empty.
    ALLOT_OUTLINE_OF(slot_caches)
    ALLOT_NOINLINE std::byte* refill_shared(shared_place& shared, detail::memory_request& asked) noexcept {
        if (!store_.provider().notifies()) return refill(shared.cache, asked);
        shared.begin_fill();
        const bool goes_past = past_caches_.load(std::memory_order_relaxed) != 0;
        std::byte* const row = ALLOT_UNLIKELY(goes_past) ? take_one(asked) : refill(shared.cache, asked);
        shared.end_fill();
        if (ALLOT_UNLIKELY(past_caches_.load(std::memory_order_relaxed) != 0) && !goes_past) flush(shared.cache);
        return row;
    }

    Store store_;
    // The next two are protected by its lock.
    intrusive_list<slot_cache_base, &slot_cache_base::in_heap> caches_;
    std::size_t users_ = 0; // caches, the shared ones included
    std::uint32_t batch_ = 1;
    std::atomic<std::uint8_t> past_caches_{0};
    std::atomic<bool> releasing_all_{false};
    // One thread at a time takes from the quarantine, or walks the caches.
    basic_spin_lock<lock_rank::heap_walk> walk_lock_;
    shared_type shared_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
