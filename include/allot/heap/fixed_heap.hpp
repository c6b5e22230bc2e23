// A heap of slots of one size, shared by any number of threads.
//
// Slots move in batches between a user's cache and the heaplets. Taking a batch holds the heap's spin lock for a
// short, bounded time and never across a system call; giving a batch back takes no lock: it changes the heaplet's
// free slots and its state word, and pushes the page on a lock-free list when it became worth looking at.
// Invariant: a page is current, on the ready list, on the lock-free space list, or has too few free slots to be
// worth it; a page whose slots were all given back is on the list of empty pages.
// Cost: about 1.3 KiB a heap; 1/32 of a lock an allocation. Threads: any, except where a member says otherwise.
// Source: HPCC roxiemem's CHeap and space list, 2010; magazines over out-of-band slots: a spike of 2026.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/heap/family.hpp>
#include <allot/heap/header_place.hpp>
#include <allot/heap/heap_plan.hpp>
#include <allot/heap/heaplet.hpp>
#include <allot/heap/page_lists.hpp>
#include <allot/heap/scan_counters.hpp>
#include <allot/heap/shared_caches.hpp>
#include <allot/heap/slot_cache.hpp>
#include <allot/heap/slot_guard.hpp>
#include <allot/heap/slot_sampler.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/poison.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

template <class Slots, class Ledger, class Guard = guard::none, class Place = header_in_page>
class fixed_heap final : public heap_base,
                         public slot_guard<fixed_heap<Slots, Ledger, Guard, Place>, Slots, Guard, Place> {
    using guard_type = slot_guard<fixed_heap, Slots, Guard, Place>;
    using tally_type = typename decltype(tally_for<Slots>())::type;

  public:
    using page = heaplet<Slots, Guard, Place>;
    using family_type = heap_family<Ledger>;
    using user_cache = tallied_cache<tally_type>;
    template <std::size_t N> using cache_of = slot_cache<N, tally_type>;
    using cache_aside = slot_cache_aside<tally_type>;

    // Slots of one page for a plan; 0 when a row does not fit a page.
    static std::size_t rows_per_page(const heap_plan& plan, std::size_t page_bytes) noexcept {
        return cut_for(plan, page_bytes).capacity;
    }

    fixed_heap(family_type& family, const heap_plan& plan) noexcept
        : guard_type(rows_per_page(plan, family.page_bytes())), plan_(plan), family_(family),
          cut_(cut_for(plan, family.page_bytes())) {
        const std::size_t fit = family.page_bytes() / 16 / cut_.stride; // caches hold no more than that
        batch_ = static_cast<std::uint32_t>(fit < 1 ? 1 : fit > 32 ? 32 : fit);
        for (auto& shared : shared_.all()) join(shared.cache, shared.cache.capacity);
        family.add(*this);
    }
    ~fixed_heap() override = default;

    const heap_plan& plan() const noexcept { return plan_; }
    const slot_geometry& cut() const noexcept { return cut_; }
    family_type& family() const noexcept { return family_; }

    // The slots that a cache with room for `capacity` may hold.
    std::uint32_t cache_limit(std::size_t capacity) const noexcept {
        return 2 * (batch_ < capacity / 2 ? batch_ : static_cast<std::uint32_t>(capacity / 2));
    }
    // A user's cache joins before its first use, and is emptied and leaves after its last.
    void adopt(user_cache& cache, std::size_t capacity) noexcept {
        join(cache, capacity);
        family_.record(watch_event::handle_opened, cut_.stride, plan_.name);
    }
    void join(user_cache& cache, std::size_t capacity) noexcept {
        cache.limit = cache_limit(capacity);
        cache.batch = cache.limit / 2;
        const std::lock_guard hold(lock_);
        caches_.add(cache);
        ++users_;
    }
    template <class Cache> void leave(Cache& cache) noexcept {
        flush(cache);
        family_.record(watch_event::handle_closed, cut_.stride, plan_.name);
        const std::lock_guard hold(lock_);
        caches_.remove(cache);
        --users_;
    }

    // Fills an empty cache with a batch; false when no memory can be had.
    template <class Cache> bool refill(Cache& cache) noexcept { return refill(cache, cache.slots()); }
    ALLOT_NOINLINE bool refill(user_cache& cache, std::byte** slots) noexcept {
        const std::size_t got = take_slots(slots, cache.batch, [&] { return cache.tally.settle(told()); });
        cache.set_size(static_cast<std::uint32_t>(got));
        return got != 0;
    }
    // Gives the oldest n slots of a cache back to their heaplets. Never waits.
    template <class Cache> void spill(Cache& cache, std::uint32_t n) noexcept {
        if (n != 0) spill(cache, cache.slots(), n);
    }
    ALLOT_NOINLINE void spill(user_cache& cache, std::byte** rows, std::uint32_t n) noexcept {
        if (lock_.try_lock()) {
            const std::lock_guard hold(lock_, std::adopt_lock);
            put_held(rows, n, cache.tally);
        } else {
            put(rows, n, cache.tally);
        }
        const std::uint32_t rest = cache.size() - n;
        std::memmove(rows, rows + n, rest * sizeof *rows);
        cache.set_size(rest);
    }
    // Gives them all back, and counts what the cache has not told yet.
    template <class Cache> void flush(Cache& cache) noexcept {
        spill(cache, cache.size());
        cache.tally.settle(told());
    }

    // One slot, for whoever has no cache of their own; null when no memory can be had.
    std::byte* pop() noexcept {
        if (auto borrowed = shared_.borrow()) {
            std::byte* row;
            return borrowed->pop(row) || (refill(*borrowed) && borrowed->pop(row)) ? row : nullptr;
        }
        return take_one();
    }
    // Never waits: when every shared cache is in use the slot goes straight to its heaplet.
    void push(std::byte* row) noexcept {
        if (ALLOT_UNLIKELY(orphan_.load(std::memory_order_relaxed))) return put_one(row);
        if (auto borrowed = shared_.borrow()) {
            if (borrowed->push(row)) return;
            spill(*borrowed, borrowed->batch);
            borrowed->push(row);
            return;
        }
        put_one(row);
    }

    // Keeps a released row back; the one that waited longest is looked at, and free for use.
    void hold(std::byte* row) noexcept
        requires(Guard::waits != 0)
    {
        if (ALLOT_UNLIKELY(orphan_.load(std::memory_order_relaxed))) return push(row);
        if (std::byte* const out = this->wait(row)) push(out);
        tell_found();
    }
    void tell_found() noexcept override { this->tell_notes(); }

    std::size_t reclaim(bool forced) noexcept override {
        if (!forced) {
            if (lock_.try_lock()) return collect(true);
            family_.note(*this);
            return 0;
        }
        while (!walk_.try_lock()) {
            if (emptied_.load(std::memory_order_acquire)) return 0;
            yield();
        }
        const std::lock_guard walks(walk_, std::adopt_lock);
        this->end_waiting([this](std::byte* row) { put_one(row); });
        for (auto& shared : shared_.all())
            if (auto borrowed = shared_.borrow(shared)) flush(*borrowed);
        lock_.lock();
        return collect(false);
    }
    // The owner frees all rows: as long as this stands, nobody who is short of pages changes the heap.
    class emptying {
      public:
        explicit emptying(fixed_heap& heap) noexcept : heap_(heap), walks_(heap.walk_) { tell(true); }
        emptying(const emptying&) = delete;
        emptying& operator=(const emptying&) = delete;
        ~emptying() { tell(false); }

      private:
        void tell(bool now) noexcept {
            const std::lock_guard hold(heap_.lock_);
            heap_.emptied_.store(now, std::memory_order_release);
        }
        fixed_heap& heap_;
        const std::lock_guard<spin_lock> walks_;
    };

    heap_usage usage() noexcept override {
        heap_usage u;
        u.name = plan_.name;
        u.type = plan_.type;
        u.row_bytes = plan_.row_bytes;
        u.slot_bytes = cut_.stride;
        const std::lock_guard hold(lock_);
        std::int64_t out = 0;
        pages_.for_each([&](page& p) { out += p.used(); });
        u.cached_rows = cached();
        out -= static_cast<std::int64_t>(u.cached_rows);
        u.live_rows = out > 0 ? static_cast<std::size_t>(out) : 0;
        u.pages = pages_.size();
        u.bytes = u.pages * family_.page_bytes();
        u.scanned_slots = scans_.looked;
        u.found_slots = scans_.found;
        if (u.live_rows != 0)
            u.overhead_per_row = (static_cast<double>(u.bytes) - static_cast<double>(u.live_rows * u.row_bytes)) /
                                 static_cast<double>(u.live_rows);
        return u;
    }

    void census(type_census& into, const census_budget& budget) noexcept override {
        const std::lock_guard hold(lock_);
        const std::size_t all = pages_.size(), look = all < budget.pages ? all : budget.pages;
        if (look == 0) return;
        const bool many_types = plan_.type == nullptr && plan_.live_type != nullptr;
        const std::size_t quota = many_types ? budget.slots / look + 1 : 0; // of a page
        std::uint64_t used = 0, picked = 0;
        std::int64_t live = 0;
        type_census shares; // of types, in 1/256 rows
        slot_sampler sampler;
        for (std::size_t i = 0; i < look; ++i) {
            page& p = pages_.next_of_walk();
            const std::uint32_t fresh = p.fresh.load(std::memory_order_relaxed);
            used += fresh;
            live += p.used();
            const std::size_t share =
                quota == 0 || fresh == 0 ? 0 : std::size_t{256} * fresh / (quota < fresh ? quota : fresh);
            picked += sampler.pick(fresh, quota, [&](std::uint32_t slot) {
                if (const row_type* const type = plan_.live_type(p, p.row(slot))) shares.add(type, share, 0);
            });
        }
        if (look < all || (many_types && picked < used)) into.estimated();
        const auto add = [&](const row_type* type, std::uint64_t rows) {
            rows = rows * all / look;
            into.add(type, rows, rows * cut_.stride);
        };
        if (many_types) return shares.for_each([&](const type_usage& u) { add(u.type, (u.rows + 128) / 256); });
        live -= static_cast<std::int64_t>(cached());
        if (live > 0) add(plan_.type != nullptr ? plan_.type : &untyped, static_cast<std::uint64_t>(live));
    }

    void visit_pages(page_visitor visit, void* context) noexcept override {
        const std::lock_guard hold(lock_);
        pages_.for_each([&](page& p) {
            const std::int64_t used = p.used();
            visit(context, {p.base(), 1, p.cut.capacity, used > 0 ? static_cast<std::size_t>(used) : 0});
        });
    }

    // Visits every slot ever used (its page, its row). No other thread may use the heap meanwhile.
    template <class Visit> void visit_slots(Visit visit) noexcept {
        pages_.for_each([&](page& p) {
            for (std::uint32_t i = 0; i < p.fresh.load(std::memory_order_relaxed); ++i) visit(p, p.row(i));
        });
    }

    void visit_rows(row_visitor visit, void* context) noexcept override { plan_.visit_rows(*this, visit, context); }

    const row_ops* kind() const noexcept override { return plan_.ops; }

    // A handle joins if the plan's users leave room for it, one caller at a time; it leaves at any time.
    bool open() noexcept {
        const bool room = handles_.load(std::memory_order_relaxed) < plan_.users;
        if (room) handles_.fetch_add(1, std::memory_order_relaxed);
        return room;
    }
    // True when it was the last one.
    bool close() noexcept { return handles_.fetch_sub(1, std::memory_order_relaxed) == 1; }
    std::size_t handles() const noexcept { return handles_.load(std::memory_order_relaxed); }

    // A heap whose owner has gone serves the next owner once it has no pages.
    void set_orphan() noexcept { orphan_.store(true, std::memory_order_release); }
    bool reuse() noexcept {
        const std::lock_guard hold(lock_);
        const bool free = orphan_.load(std::memory_order_relaxed) && pages_.size() == 0;
        if (free) orphan_.store(false, std::memory_order_relaxed);
        return free;
    }

    std::size_t drop_pages() noexcept override {
        this->end_waiting([](std::byte*) {});
        tell_found();
        for (auto& shared : shared_.all()) {
            shared.cache.set_size(0);
            shared.cache.tally.forget();
        }
        gone_headers<page> gone;
        const std::lock_guard hold(lock_);
        return pages_.drop([&](page& p) {
            this->end_rows(p);
            give(p, gone);
        });
    }

    // Caches and handles of one thread that joined, the heap's own not counted.
    std::size_t users() noexcept {
        const std::lock_guard hold(lock_);
        return users_ - shared_caches<tally_type>::count;
    }
    std::size_t pages() noexcept {
        const std::lock_guard hold(lock_);
        return pages_.size();
    }

    // No other thread may use the heap meanwhile.
    bool valid() noexcept override {
        const std::lock_guard hold(lock_);
        bool good = pages_.valid();
        pages_.for_each([&](page& p) { good = good && p.valid(uncounted(p)) && this->is_undamaged(p); });
        return good;
    }

  private:
    // The policy looks for free slots, and says at how many.
    static constexpr bool scans = requires(typename Slots::in_page& slots) { slots.looked(); };

    static const tally_type& tally(const slot_cache_base& cache) noexcept {
        return static_cast<const user_cache&>(cache).tally;
    }
    // Free slots that no heaplet counts.
    std::size_t cached() noexcept {
        std::size_t n = this->waiting();
        for (slot_cache_base* c = caches_.first(); c != nullptr; c = caches_.after(*c))
            n += c->size() + tally(*c).pending();
        return n;
    }
    std::uint32_t uncounted(page& p) noexcept {
        std::uint32_t n = 0;
        for (slot_cache_base* c = caches_.first(); c != nullptr; c = caches_.after(*c))
            n += tally(*c).pending(p.base());
        return n;
    }

    static slot_geometry cut_for(const heap_plan& plan, std::size_t page_bytes) noexcept {
        return page::plan(page_bytes, plan.row_bytes, plan.align, plan.header_bytes, plan.count_bytes_aside);
    }

    // The page of a row, or of its own start.
    ALLOT_ALWAYS_INLINE page& page_of_row(std::byte* row, [[maybe_unused]] std::uintptr_t mask) const noexcept {
        if constexpr (Place::aside) return page_at<page>(family_.arena().view(), row);
        else return *reinterpret_cast<page*>(page_of(row, mask));
    }
    ALLOT_ALWAYS_INLINE page& page_of_base(std::byte* base, [[maybe_unused]] std::uintptr_t mask = 0) const noexcept {
        if constexpr (Place::aside) return page_of_row(base, mask);
        else return *reinterpret_cast<page*>(base);
    }
    // Calls visit(page, rows, n) for each run of rows of one page.
    template <class Visit>
    ALLOT_ALWAYS_INLINE void by_pages(std::byte* const* rows, std::size_t n, std::uintptr_t mask,
                                      Visit visit) const noexcept {
        for (std::size_t i = 0; i < n;) {
            std::byte* const base = page_of(rows[i], mask);
            std::size_t end = i + 1;
            while (end < n && page_of(rows[end], mask) == base) ++end;
            visit(page_of_base(base, mask), rows + i, end - i);
            i = end;
        }
    }

    // ---- giving back: no lock -------------------------------------------------------------------------------

    void put(std::byte* const* rows, std::size_t n, tally_type& tally) noexcept {
        tally.sweep(told());
        by_pages(rows, n, family_.arena().page_mask(), [&](page& p, std::byte* const* of_page, std::size_t k) {
            p.slots.put(p.base(), cut_, of_page, k);
            tally.add(p.base(), static_cast<std::uint32_t>(k), family_.arena().page_shift(), cut_.capacity, told());
        });
    }
    // Past all caches.
    ALLOT_NOINLINE void put_one(std::byte* row) noexcept {
        page& p = page_of_row(row, family_.arena().page_mask());
        p.slots.put(p.base(), cut_, &row, 1);
        count(p, 1);
    }
    auto told() noexcept {
        return [this](std::byte* base, std::uint32_t n) { count(page_of_base(base), n); };
    }
    // n slots of the page were given back.
    void count(page& p, std::uint32_t n) noexcept {
        const auto change = pages_.count(p, n); // the page may be gone
        if (change.note || (change.owed && !noted.load(std::memory_order_relaxed))) family_.note(*this);
    }

    // ---- giving back: under the lock, when it is free ---------------------------------------------------------

    // No atomic operation; a page is told now and then.
    void put_held(std::byte* const* rows, std::size_t n, tally_type& tally) noexcept {
        tally.sweep([this](std::byte* base, std::uint32_t k) { count_held(page_of_base(base), k); });
        const std::uintptr_t mask = family_.arena().page_mask();
        const slot_geometry cut = cut_; // in registers: what is stored could lie anywhere
        if (near(rows[0], rows[n - 1])) {
            by_pages(rows, n, mask, [&](page& p, std::byte* const* of_page, std::size_t k) {
                p.slots.put_held(p.base(), cut, of_page, k);
                count_held(p, static_cast<std::uint32_t>(k));
            });
        } else { // far apart: looking for neighbours would only mislead the branch predictor
            for (std::size_t i = 0; i != n; ++i) {
                page& p = page_of_row(rows[i], mask);
                p.slots.put_held(p.base(), cut, rows + i, 1);
                count_held(p, 1);
            }
        }
    }
    ALLOT_ALWAYS_INLINE void count_held(page& p, std::uint32_t n) noexcept {
        if (ALLOT_UNLIKELY(p.held.add(n))) look(p);
    }
    ALLOT_NOINLINE void look(page& p) noexcept {
        if (pages_.look(p)) family_.note(*this);
    }

    // Rows of a batch whose ends lie so near were probably released in the order of their addresses.
    bool near(const std::byte* a, const std::byte* b) const noexcept {
        const std::size_t apart = a < b ? static_cast<std::size_t>(b - a) : static_cast<std::size_t>(a - b);
        return apart <= std::size_t{cut_.stride} * 128;
    }

    // ---- taking: under the lock -----------------------------------------------------------------------------

    // Past all caches.
    ALLOT_NOINLINE std::byte* take_one() noexcept {
        std::byte* row = nullptr;
        return take_slots(&row, 1, [] { return false; }) == 1 ? row : nullptr;
    }
    // `more` is asked before the family is: true when slots may have turned up.
    template <class More> std::size_t take_slots(std::byte** out, std::size_t n, More more) noexcept {
        const std::size_t got = find_slots(out, n, more);
        this->tell_notes();
        return got;
    }
    template <class More> std::size_t find_slots(std::byte** out, std::size_t n, More more) noexcept {
        do {
            const std::lock_guard hold(lock_);
            if (const std::size_t got = claim(out, n)) return got;
        } while (more());
        std::byte* const memory = take_page();
        family_.settled();
        std::size_t got = 0;
        {
            const std::lock_guard hold(lock_);
            got = claim(out, n); // slots or a page came in meanwhile
            if (got == 0 && memory != nullptr) {
                pages_.add(*format(memory));
                return claim(out, n);
            }
            if (got == 0) got = pages_.scrape([&](page& p) { return claim_from(p, out, n); });
        }
        if (memory != nullptr) give_page(memory); // a page never used would never be found empty
        return got;
    }

    std::size_t claim(std::byte** out, std::size_t n) noexcept {
        return pages_.claim([&](page& p) { return claim_from(p, out, n); });
    }
    // Untouched slots only when few were given back: used memory is warm, and the page stays small.
    std::size_t claim_from(page& p, std::byte** out, std::size_t n) noexcept {
        const std::uint32_t fresh = p.fresh.load(std::memory_order_relaxed);
        const std::int64_t given = p.given();
        const std::uint32_t untouched = p.cut.capacity - fresh;
        std::size_t got = 0;
        if (p.is_broken()) return 0;
        if (given > 0 && (untouched == 0 || (given >= 32 && given * 8 >= fresh))) got = claim_given(p, out, n);
        if (got != 0) return got;
        if (untouched != 0) {
            const auto k = static_cast<std::uint32_t>(n < untouched ? n : untouched);
            std::byte* row = p.row(fresh + k);
            for (std::uint32_t i = 0; i != k; ++i) {
                row -= cut_.stride;
                clear_count(row);
                this->begin_slot(row);
                out[i] = row;
            }
            p.fresh.store(fresh + k, std::memory_order_relaxed);
            if constexpr (scans) p.slots.reach(fresh + k);
            return k;
        }
        return given > 0 ? claim_given(p, out, n) : 0;
    }
    std::size_t claim_given(page& p, std::byte** out, std::size_t n) noexcept {
        const std::size_t got = p.slots.claim(p.base(), cut_, out, n);
        if (got != 0) p.claim(static_cast<std::uint32_t>(got));
        if constexpr (scans) scans_.add(p.slots.looked(), got);
        this->note_if_broken(p);
        return got;
    }
    // A link count of 0 marks a slot that holds no row.
    void clear_count(std::byte* row) const noexcept {
        if (cut_.header >= sizeof(std::uint32_t)) ::new (row - sizeof(std::uint32_t)) std::uint32_t{0};
    }
    // ---- pages ----------------------------------------------------------------------------------------------

    // A page's memory, and aside its header: then the header is what is handed on.
    ALLOT_ALWAYS_INLINE std::byte* take_page() noexcept {
        std::byte* const memory = family_.take(1);
        if constexpr (!Place::aside) {
            return memory;
        } else {
            if (memory == nullptr) return nullptr;
            std::byte* const header = get_header(page::header_bytes(cut_, plan_.count_bytes_aside));
            if (header == nullptr) family_.give(memory, 1);
            else (::new (header) page)->place.memory = memory;
            return header;
        }
    }
    ALLOT_ALWAYS_INLINE void give_page(std::byte* taken) noexcept {
        if constexpr (Place::aside) {
            family_.give(reinterpret_cast<page*>(taken)->base(), 1);
            free_header(taken);
        } else {
            family_.give(taken, 1);
        }
    }
    page* format(std::byte* taken) noexcept {
        page* p;
        if constexpr (Place::aside) p = reinterpret_cast<page*>(taken);
        else p = ::new (taken) page;
        p->ops = plan_.ops;
        p->owner = this;
        if constexpr (Place::aside) family_.arena().set_owner(p->base(), static_cast<page_header*>(p));
        else family_.arena().set_owner(taken, this);
        p->type = plan_.type;
        p->bucket = plan_.index;
        p->cut = cut_;
        p->threshold = cut_.capacity / 16 + 1;
        p->slots.reset(p->aside(), cut_);
        this->begin_page(*p);
        if (plan_.count_bytes_aside != 0)
            for (std::size_t i = 0; i < cut_.capacity * plan_.count_bytes_aside / 4; ++i)
                ::new (p->counts() + i) std::uint32_t{0};
        p->state.reset(true);
        return p;
    }
    // With the lock, which it gives back. `keeps`: an empty page stays with a heap that has an owner.
    std::size_t collect(bool keeps) noexcept {
        gone_headers<page> gone;
        const std::lock_guard hold(lock_, std::adopt_lock);
        if (emptied_.load(std::memory_order_relaxed)) return 0;
        return pages_.collect(keeps && !orphan_.load(std::memory_order_acquire), [&](page& p) { give(p, gone); });
    }
    void give(page& p, gone_headers<page>& gone) noexcept {
        std::byte* const memory = p.base();
        p.ops = nullptr;
        family_.arena().set_owner(memory, nullptr);
        gone.add(p);
        if constexpr (!Place::aside) sys::unpoison(memory, family_.page_bytes());
        family_.give(memory, 1);
    }

    const heap_plan plan_;
    family_type& family_;
    const slot_geometry cut_;
    std::uint32_t batch_ = 1;
    std::atomic<std::uint32_t> handles_{0}; // of those that open() let in
    std::atomic<bool> orphan_{false};       // its owner has gone: nothing is kept for later
    std::atomic<bool> emptied_{false};      // its owner is freeing all rows; changed under both locks
    spin_lock walk_; // of who gathers free slots from everywhere, or frees all rows; taken before lock_

    alignas(64) spin_lock lock_; // the members up to the next line
    std::size_t users_ = 0;
    intrusive_list<slot_cache_base, &slot_cache_base::in_heap> caches_;
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<scans, scan_counters, no_scan_counters> scans_;
    page_lists<page> pages_;

    shared_caches<tally_type> shared_;
};

} // namespace allot::inline ALLOT_ABI
