// A heap of slots of one size, shared by any number of threads: slot caches in front of heaplets.
//
// Slots move between caches and heaplets in groups and batches (heap/cache_supply.hpp). A release never waits.
// Invariant: a slot holds a row, is in one cache or in the quarantine, or is free in its heaplet.
// Cost: about 2.8 KiB per heap. Threads: any, except where a member says otherwise.
// Source: magazines, Bonwick and Adams 2001.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/cache_supply.hpp>
#include <allot/heap/shared_caches.hpp>
#include <allot/heap/slot_cache.hpp>
#include <allot/heap/slot_sampler.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

template <class Slots, class Guard = guard::none, class Location = header_in_page>
class alignas(heap_tag::buckets) fixed_heap final : public cache_supply<Slots, Guard, Location> {
    using supply = cache_supply<Slots, Guard, Location>;
    using supply::collect, supply::put_locked, supply::put_one, supply::take_slots, supply::set_batch, supply::limit,
        supply::join, supply::put_all_locked, supply::in_caches, supply::uncounted;
    using supply::cut_, supply::releasing_all_, supply::lock_, supply::past_caches_, supply::pages_, supply::config_,
        supply::provider_, supply::scans_, supply::users_;
    using typename supply::deferred_type;

  public:
    using supply::refill, supply::push_apart, supply::spill, supply::flush;
    using typename heap_base::page_visitor, typename heap_base::row_visitor;
    using typename supply::page, typename supply::user_cache;
    template <std::size_t N> using cache_of = slot_cache<N, deferred_type>;

    fixed_heap(page_provider& provider, const heap_config& config) noexcept : supply(provider, config, this) {
        set_batch();
        for (auto& shared : shared_.all()) {
            shared.cache.stack = shared.cache.slots();
            join(shared.cache, shared.cache.capacity, groups_of_shared);
        }
        provider.heaps().add(*this);
    }
    ~fixed_heap() override = default;
    // Makes it a heap of another config. False: another thread is in a reclaim() of it, and nothing has changed.
    // Requires: the heap is unused.
    bool configure(const heap_config& config) noexcept {
        if (!walk_lock_.try_lock()) return false;
        const detail::lock_guard walk(walk_lock_, detail::adopt_lock);
        const detail::lock_guard hold(lock_);
        this->set_config(config);
        this->live.end();
        set_batch();
        for (auto& shared : shared_.all()) limit(shared.cache, shared.cache.capacity, groups_of_shared);
        return true;
    }

    // Registers a cache; call before its first use. leave(), after its last, flushes and removes it.
    template <class Cache> void adopt(Cache& cache, std::size_t capacity) noexcept {
        cache.stack = cache.slots();
        join(cache, capacity, capacity);
        provider_.record(watch_event::handle_opened, cut_.stride, config_.name);
    }
    template <class Cache> void leave(Cache& cache) noexcept {
        flush(cache);
        provider_.record(watch_event::handle_closed, cut_.stride, config_.name);
        const detail::lock_guard hold(lock_);
        this->remove(cache);
        if (this->is_abandoned()) provider_.note_empty(*this); // it may be idle now
    }

    // A slot of a shared cache, without a call; null: pop() may have one.
    ALLOT_ALWAYS_INLINE std::byte* pop_cached() noexcept {
        std::byte* row = nullptr;
        if (auto borrowed = shared_.borrow())
            if (ALLOT_UNLIKELY(!borrowed->pop(row))) return nullptr;
        return row;
    }
    // One slot, for callers without a cache; null if out of memory.
    ALLOT_ALWAYS_INLINE std::byte* pop(detail::memory_request& asked) noexcept {
        if (auto borrowed = shared_.borrow()) {
            std::byte* row;
            return ALLOT_LIKELY(borrowed->pop(row)) ? row : refill_shared(borrowed.in(), asked);
        }
        return take_one(asked);
    }
    // Frees one slot. Never waits: if the shared caches it tries are in use, it frees the slot to its heaplet.
    void push(std::byte* row) noexcept {
        // past_caches_ is read with the cache borrowed: flush_shared() borrows each cache after it was set.
        if (auto borrowed = shared_.borrow();
            borrowed && ALLOT_LIKELY(past_caches_.load(std::memory_order_relaxed) == 0)) {
            if (ALLOT_UNLIKELY(!borrowed->push(row)))
                if (!borrowed->push_to_group(row)) push_apart(*borrowed, row);
            return;
        }
        put_one(row);
    }

    // Puts a released row into the quarantine and frees the slot of the row that leaves it.
    void hold(std::byte* row) noexcept
        requires(Guard::waits != 0)
    {
        this->enter_quarantine(row, past_caches_, [this](std::byte* out) { push(out); });
        report_found_damage();
    }
    void report_found_damage() noexcept override { this->report_logged_damage(); }

    std::size_t reclaim(bool forced) noexcept override {
        leaving_pages<page> leaving{provider_};
        if (!forced) {
            if (!lock_.try_lock()) return provider_.heaps().note(*this), 0;
            const detail::lock_guard hold(lock_, detail::adopt_lock);
            collect(true, leaving);
        } else {
            if (!lock_walk()) return 0;
            const detail::lock_guard walk(walk_lock_, detail::adopt_lock);
            this->drain_quarantine(lock_, [this](std::byte* const* rows, std::size_t n) { put_locked(rows, n); });
            for (auto& shared : shared_.all()) static_cast<void>(try_flush(shared));
            const detail::lock_guard hold(lock_);
            collect(false, leaving);
        }
        return leaving.give();
    }
    // The owner releases all rows. While this object exists, reclaim() by other threads does not change the heap. It
    // holds no lock, since destructors of rows run meanwhile.
    class emptying {
      public:
        explicit emptying(fixed_heap& heap) noexcept : heap_(heap), leaving_(heap.provider_) {
            const detail::lock_guard walk(heap_.walk_lock_); // after a reclaim that runs
            set(true);
        }
        emptying(const emptying&) = delete;
        emptying& operator=(const emptying&) = delete;
        ~emptying() {
            set(false);
            leaving_.give();
        }
        // The same as drop_pages(), but the pages return to the arena when this object ends.
        std::size_t drop_pages() noexcept { return heap_.drop_pages(leaving_); }

      private:
        void set(bool now) noexcept {
            const detail::lock_guard hold(heap_.lock_);
            heap_.releasing_all_.store(now, std::memory_order_release);
        }
        fixed_heap& heap_;
        leaving_pages<page> leaving_;
    };

    heap_usage usage() noexcept override {
        heap_usage u;
        const detail::lock_guard hold(lock_);
        u.name = config_.name;
        u.type = config_.type;
        u.row_bytes = config_.row_bytes;
        u.slot_bytes = cut_.stride;
        std::int64_t out = 0;
        pages_.for_each([&](page& p) { out += p.used(); });
        u.cached_rows = cached();
        out -= static_cast<std::int64_t>(u.cached_rows);
        u.live_rows = out > 0 ? static_cast<std::size_t>(out) : 0;
        u.pages = pages_.size();
        u.bytes = u.pages * provider_.page_bytes();
        u.scanned_slots = scans_.scanned;
        u.found_slots = scans_.found;
        if (u.live_rows != 0)
            u.overhead_per_row = (static_cast<double>(u.bytes) - static_cast<double>(u.live_rows * u.row_bytes)) /
                                 static_cast<double>(u.live_rows);
        return u;
    }

    void count_types(type_histogram& into, const histogram_budget& budget) noexcept override {
        const detail::lock_guard hold(lock_);
        const std::size_t all = pages_.size(), sampled = all < budget.pages ? all : budget.pages;
        if (sampled == 0) return;
        const bool many_types = config_.type == nullptr && config_.live_type != nullptr;
        const std::size_t quota = many_types ? budget.slots / sampled + 1 : 0; // slots to sample per page
        std::uint64_t used = 0, picked = 0;
        std::int64_t living = 0;
        type_histogram shares; // rows by type, in units of 1/256
        slot_sampler sampler;
        for (std::size_t i = 0; i < sampled; ++i) {
            page& p = pages_.next_of_walk();
            const std::uint32_t fresh = p.fresh.load(std::memory_order_relaxed);
            used += fresh;
            living += p.used();
            const std::size_t share =
                quota == 0 || fresh == 0 ? 0 : std::size_t{256} * fresh / (quota < fresh ? quota : fresh);
            picked += sampler.pick(fresh, quota, [&](std::uint32_t slot) {
                if (const row_type* const type = config_.live_type(p, p.row(slot))) shares.add(type, share, 0);
            });
        }
        if (sampled < all || (many_types && picked < used)) into.estimated();
        const auto add = [&](const row_type* type, std::uint64_t rows) {
            rows = rows * all / sampled;
            into.add(type, rows, rows * cut_.stride);
        };
        if (many_types) return shares.for_each([&](const type_usage& u) { add(u.type, (u.rows + 128) / 256); });
        living -= static_cast<std::int64_t>(cached());
        if (living > 0) add(config_.type != nullptr ? config_.type : &untyped, static_cast<std::uint64_t>(living));
    }

    void visit_pages(page_visitor visit, void* context) noexcept override {
        const detail::lock_guard hold(lock_);
        const detail::user_call here{detail::user_call::kind::visit};
        pages_.for_each([&](page& p) {
            const std::int64_t used = p.used();
            visit(context, {p.base(), 1, p.cut.capacity, used > 0 ? static_cast<std::size_t>(used) : 0});
        });
    }

    // Calls visit(page, row) for every slot ever handed out. No other thread may use the heap meanwhile.
    template <class Visit> void visit_slots(Visit visit) noexcept {
        pages_.for_each([&](page& p) {
            for (std::uint32_t i = 0; i < p.fresh.load(std::memory_order_relaxed); ++i) visit(p, p.row(i));
        });
    }

    // For rows without link counts: free slots look the same. Notes which slots hold rows, until live.end(). A slot
    // that comes to a cache or leaves it at this moment may be noted wrongly: no live row of the caller. False: no
    // memory.
    bool find_live() noexcept {
        while (!this->live.is_known()) {
            const std::size_t most = pages();
            if (!this->live.begin(most, cut_.capacity)) return false;
            const detail::lock_guard hold(lock_);
            if (pages_.size() <= most) note_live();
            else this->live.end(); // other threads have added pages
        }
        return true;
    }
    // Whether the slot held a row then. Requires find_live().
    bool was_live(page& p, std::byte* row) noexcept { return this->live.has(p.number, p.index(row)); }

    std::size_t begin_moves() noexcept override {
        const detail::lock_guard hold(lock_);
        return pages_.begin_moves(cut_.capacity);
    }
    void end_moves() noexcept override {
        this->marked = 0;
        const detail::lock_guard hold(lock_);
        pages_.end_moves();
    }
    std::size_t exchange(std::byte* const* old, std::size_t n, std::byte** slots, std::size_t most) noexcept override {
        const detail::lock_guard hold(lock_);
        if (n != 0) put_locked(old, n);
        return most != 0 ? pages_.claim_target([&](page& p) { return this->claim_for_moves(p, slots, most); }) : 0;
    }

    void visit_rows(row_visitor visit, void* context) noexcept override { config_.visit_rows(*this, visit, context); }

    const row_ops* kind() const noexcept override { return config_.ops; }

    // Whether the heap has no handles: then it keeps no empty page, and releases go past its caches and quarantine.
    void set_abandoned(bool now) noexcept { this->set_past_caches(supply::abandoned, now); }
    void set_shut(bool now) noexcept override { this->set_past_caches(supply::shut, now); }
    // Releases from now on go past the caches. Those that began before are waited for; a thread that fills a cache is
    // not, since it may call other code: it empties the cache.
    void flush_shared() noexcept override {
        full_fence(); // as in borrowed::end_fill()
        for (auto& shared : shared_.all())
            while (!try_flush(shared) && !shared.is_filled()) yield();
    }
    // Call when it was abandoned: returns empty pages. Waits for threads that release a row into a cache of it.
    void return_all() noexcept {
        flush_shared();
        full_fence(); // as in enter_quarantine()
        reclaim(true);
        report_found_damage();
    }
    bool is_idle() noexcept override {
        if (!this->is_abandoned()) return false;
        const detail::lock_guard hold(lock_);
        return pages_.size() == 0 && users_ == supply::own_caches && this->damage_is_reported();
    }
    bool has_users() noexcept override {
        return this->handles.load(std::memory_order_relaxed) != 0 || this->users() != 0;
    }

    std::size_t drop_pages() noexcept override {
        leaving_pages<page> leaving{provider_};
        drop_pages(leaving);
        return leaving.give();
    }

    std::size_t pages() noexcept override {
        const detail::lock_guard hold(lock_);
        return pages_.size();
    }

    // No other thread may use the heap meanwhile.
    bool valid() noexcept override {
        const detail::lock_guard hold(lock_);
        bool good = pages_.valid();
        pages_.for_each([&](page& p) { good = good && p.valid(uncounted(p)) && this->is_undamaged(p); });
        return good;
    }

  private:
    std::size_t drop_pages(leaving_pages<page>& leaving) noexcept {
        this->drain_quarantine(lock_, [](std::byte* const*, std::size_t) {});
        report_found_damage();
        for (auto& shared : shared_.all()) {
            shared.cache.clear();
            shared.cache.deferred.clear();
        }
        const detail::lock_guard hold(lock_);
        return pages_.drop([&](page& p) {
            this->end_rows(p);
            leaving.add(p);
        });
    }

    // Requires lock_.
    void note_live() noexcept {
        std::uint32_t number = 0;
        pages_.for_each([&](page& p) {
            p.number = ++number;
            this->live.add(p.number, p.fresh.load(std::memory_order_relaxed));
            p.slots.visit_free(p.base(), cut_, [&](std::uint32_t slot) { this->live.remove(p.number, slot); });
        });
        this->visit_cached([&](page& p, std::byte* slot) { this->live.remove(p.number, p.index(slot)); });
    }

    static constexpr std::size_t groups_of_shared = 64; // those of a handle's cache
    using shared_place = typename shared_caches<deferred_type>::place;

    // Where one slot is put: see slot_supply::take_slots.
    struct one_place {
        fixed_heap& heap;
        std::byte* row = nullptr;

        bool has_slots() const noexcept { return false; }
        bool claim_freed(page& p) noexcept { return heap.supply::claim_freed(p, &row, 1) == 1; }
        void claim_untouched(page& p) noexcept { row = heap.begin_slots(p, 1); }
        bool free_more() noexcept { return false; }
        bool find_waiting() noexcept { return heap.take_waiting(&row, 1) == 1; }
    };
    // Takes one slot, bypassing the caller's caches.
    ALLOT_NOINLINE std::byte* take_one(detail::memory_request& asked) noexcept {
        one_place place{*this};
        take_slots(place, asked);
        return place.row;
    }
    // From the quarantine, and from shared caches that no thread uses now.
    std::size_t take_waiting(std::byte** out, std::size_t n) noexcept override {
        if (!lock_walk()) return 0;
        const detail::lock_guard walk(walk_lock_, detail::adopt_lock);
        std::size_t got = this->leave_quarantine(out, n);
        for (auto& shared : shared_.all())
            if (auto borrowed = shared_.borrow(shared))
                while (got != n && (borrowed->pop(out[got]) || pop_unpacked(*borrowed, out[got]))) ++got;
        return got;
    }
    template <class Cache> bool pop_unpacked(Cache& cache, std::byte*& row) noexcept {
        if (cache.bits() == 0) return false;
        cache.unpack(cache.slots(), cut_.stride);
        return cache.pop(row);
    }
    // Fills a shared cache; while releases go past it, it stays empty.
    ALLOT_NOINLINE std::byte* refill_shared(shared_place& shared, detail::memory_request& asked) noexcept {
        if (!provider_.notifies()) return refill(shared.cache, asked);
        if (ALLOT_UNLIKELY(past_caches_.load(std::memory_order_relaxed) != 0)) return take_one(asked);
        shared.begin_fill();
        std::byte* const row = refill(shared.cache, asked);
        shared.end_fill();
        if (ALLOT_UNLIKELY(past_caches_.load(std::memory_order_relaxed) != 0)) flush(shared.cache);
        return row;
    }
    // Flushes a shared cache, with the lock, so that usage() finds each slot in the cache or free. False: it is in use.
    bool try_flush(shared_place& shared) noexcept {
        auto borrowed = shared_.borrow(shared);
        if (borrowed) flush(*borrowed);
        return static_cast<bool>(borrowed);
    }
    // Waits for walk_lock_. False: the owner is releasing all rows.
    bool lock_walk() noexcept {
        walk_lock_.lock();
        if (!releasing_all_.load(std::memory_order_relaxed)) return true;
        walk_lock_.unlock();
        return false;
    }
    // Free slots that no heaplet counts. Requires lock_.
    std::size_t cached() noexcept { return this->quarantined() + in_caches(); }

    basic_spin_lock<lock_rank::heap_walk> walk_lock_; // held by a forced reclaim; taken before lock_

    shared_caches<deferred_type> shared_;
};

} // namespace allot::inline ALLOT_ABI
