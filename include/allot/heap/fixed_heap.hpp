// A heap of slots of one size, shared by any number of threads: slot_caches, with a slot_store behind them, and what a
// row manager asks of a heap.
//
// Slots move between caches and heaplets in groups and batches. A release never waits.
// Invariant: a slot holds a row, is in one cache or in the quarantine, or is free in its heaplet.
// Cost: 3.25 KiB per heap. Threads: any, except where a member says otherwise.
// Source: magazines, Bonwick and Adams 2001.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/heap/heap_config.hpp>
#include <allot/heap/leaving_pages.hpp>
#include <allot/heap/slot_cache.hpp>
#include <allot/heap/slot_caches.hpp>
#include <allot/heap/slot_sampler.hpp>
#include <allot/heap/slot_store.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/lock_guard.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Slots, class Guard = guard::none, class Location = header_in_page>
class alignas(heap_tag::buckets) fixed_heap final : public heap_base {
    using store_type = slot_store<Slots, Guard, Location>;
    using caches_type = slot_caches<store_type>;

  public:
    using page = typename store_type::page;
    using user_cache = typename caches_type::user_cache;
    template <std::size_t N> using cache_of = slot_cache<N, typename store_type::deferred_type>;

    ALLOT_OUTLINE_OF(fixed_heap)
    fixed_heap(page_provider& provider, const heap_config& config) noexcept : caches_(provider, config, *this) {
        provider.heaps().add(*this);
        provider.books().owe(sizeof *this);
    }
    ~fixed_heap() override = default;
    bool configure(const heap_config& config) noexcept override {
        if (!caches_.walk_lock().try_lock()) return false;
        const detail::lock_guard walk(caches_.walk_lock(), detail::adopt_lock);
        const detail::lock_guard hold(store().lock());
        live.end();
        caches_.configure(config);
        return true;
    }

    static std::size_t rows_per_page(const heap_config& config, std::size_t page_bytes) noexcept {
        return store_type::rows_per_page(config, page_bytes);
    }
    const heap_config& config() const noexcept override { return store().config(); }
    const slot_geometry& cut() const noexcept { return store().cut(); }
    page_provider& provider() const noexcept { return store().provider(); }
    std::uintptr_t tag() const noexcept { return store().tag(); }

    // ---- slots: as slot_caches says ---------------------------------------------------------------------------------

    template <class Cache> void adopt(Cache& cache, std::size_t capacity) noexcept { caches_.adopt(cache, capacity); }
    template <class Cache> void leave(Cache& cache) noexcept { caches_.leave(cache); }
    std::uint32_t cache_limit(std::size_t capacity) const noexcept { return caches_.cache_limit(capacity); }
    std::size_t users() noexcept {
        const detail::lock_guard hold(store().lock());
        return caches_.users();
    }
    template <class Cache> std::byte* refill(Cache& cache, detail::memory_request& asked) noexcept {
        return caches_.refill(cache, asked);
    }
    template <class Cache, class Entry>
    std::byte* refill(Cache& cache, Entry& entry, detail::memory_request& asked) noexcept {
        return caches_.refill(cache, entry, asked);
    }
    template <class Cache> void push_apart(Cache& cache, std::byte* row) noexcept { caches_.push_apart(cache, row); }
    template <class Cache> void spill(Cache& cache, std::size_t n) noexcept { caches_.spill(cache, n); }
    template <class Cache> void flush(Cache& cache) noexcept { caches_.flush(cache); }
    ALLOT_ALWAYS_INLINE std::byte* pop_cached() noexcept { return caches_.pop_cached(); }
    ALLOT_ALWAYS_INLINE std::byte* pop(detail::memory_request& asked) noexcept { return caches_.pop(asked); }
    ALLOT_OUTLINE_OF(fixed_heap) void push(std::byte* row) noexcept {
        caches_.push(row, [this, row](typename caches_type::shared_cache* cache) { caches_.push_slow(row, cache); });
    }
    void hold(std::byte* row) noexcept { caches_.hold(row); }

    // ---- guards: as heap_hardening says -----------------------------------------------------------------------------

    std::size_t usable() const noexcept { return store().guards().usable(store().layout()); }
    bool is_intact(const std::byte* row) const noexcept { return store().guards().is_intact(store().layout(), row); }
    void guard_row(std::byte* row) const noexcept { store().guards().guard_row(store().layout(), row); }
    bool is_marked(const std::byte* row) const noexcept { return store().guards().is_marked(store().layout(), row); }
    void mark_row(std::byte* row) const noexcept { store().guards().mark_row(store().layout(), row); }
    void report_found_damage() noexcept override { store().report_damage(); }

    // ---- pages ------------------------------------------------------------------------------------------------------

    // Not forced: keeps one empty page. Where another thread has the lock, the heap is noted for the next page request.
    ALLOT_OUTLINE_OF(fixed_heap) std::size_t reclaim(bool forced) noexcept override {
        leaving_pages<page> leaving{provider()};
        if (!forced) {
            if (!store().lock().try_lock()) return provider().heaps().note(*this), 0;
            const detail::lock_guard hold(store().lock(), detail::adopt_lock);
            collect(true, leaving);
        } else {
            if (!caches_.lock_walk()) return 0; // all rows are being released
            const detail::lock_guard walk(caches_.walk_lock(), detail::adopt_lock);
            caches_.free_waiting();
            const detail::lock_guard hold(store().lock());
            collect(false, leaving);
        }
        return leaving.give();
    }
    ALLOT_OUTLINE_OF(fixed_heap) bool pins_pages() noexcept override {
        if (!store().lock().try_lock()) return false;
        const detail::lock_guard hold(store().lock(), detail::adopt_lock);
        const std::size_t all = store().pages().size();
        if (all < 8) return false;
        const std::size_t cached = caches_.count();
        if (cached < all / 2) return false;                                   // so the walk below is a short one
        const std::int64_t rows = used() - static_cast<std::int64_t>(cached); // each in a page of its own, at worst
        return rows <= static_cast<std::int64_t>(all / 2) && rows + 8 <= static_cast<std::int64_t>(all);
    }
    // The owner releases all rows. While this object exists, reclaim() by other threads does not change the heap. It
    // holds no lock, since destructors of rows run meanwhile.
    class emptying {
      public:
        explicit emptying(fixed_heap& heap) noexcept : heap_(heap), leaving_(heap.provider()) {
            const detail::lock_guard walk(heap_.caches_.walk_lock()); // after a reclaim that runs
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
            const detail::lock_guard hold(heap_.store().lock());
            heap_.caches_.set_releasing_all(now);
        }
        fixed_heap& heap_;
        leaving_pages<page> leaving_;
    };

    ALLOT_OUTLINE_OF(fixed_heap) heap_usage usage() noexcept override {
        heap_usage u;
        const detail::lock_guard hold(store().lock());
        u.name = config().name;
        u.type = config().type;
        u.row_bytes = config().row_bytes;
        u.slot_bytes = cut().stride;
        u.cached_rows = caches_.count();
        const std::int64_t out = used() - static_cast<std::int64_t>(u.cached_rows);
        u.live_rows = out > 0 ? static_cast<std::size_t>(out) : 0;
        u.pages = store().pages().size() * config().pages;
        u.bytes = u.pages * provider().page_bytes();
        u.scanned_slots = store().scan_counts().scanned;
        u.found_slots = store().scan_counts().found;
        if (u.live_rows != 0)
            u.overhead_per_row = (static_cast<double>(u.bytes) - static_cast<double>(u.live_rows * u.row_bytes)) /
                                 static_cast<double>(u.live_rows);
        return u;
    }

    ALLOT_OUTLINE_OF(fixed_heap)
    void count_types(type_histogram& into, const histogram_budget& budget) noexcept override {
        const detail::lock_guard hold(store().lock());
        const std::size_t all = store().pages().size(), sampled = all < budget.pages ? all : budget.pages;
        if (sampled == 0) return;
        const bool many_types = config().type == nullptr && config().live_type != nullptr;
        const std::size_t quota = many_types ? budget.slots / sampled + 1 : 0; // slots to sample per page
        std::uint64_t used = 0, picked = 0;
        std::int64_t living = 0;
        type_histogram shares; // rows by type, in units of 1/256
        slot_sampler sampler;
        for (std::size_t i = 0; i < sampled; ++i) {
            page& p = store().pages().next_of_walk();
            const std::uint32_t fresh = p.fresh.load(std::memory_order_relaxed);
            used += fresh;
            living += p.used();
            const std::size_t share =
                quota == 0 || fresh == 0 ? 0 : std::size_t{256} * fresh / (quota < fresh ? quota : fresh);
            picked += sampler.pick(fresh, quota, [&](std::uint32_t slot) {
                if (const row_type* const type = config().live_type(p, p.row(slot))) shares.add(type, share, 0);
            });
        }
        if (sampled < all || (many_types && picked < used)) into.estimated();
        const auto add = [&](const row_type* type, std::uint64_t rows) {
            rows = rows * all / sampled;
            into.add(type, rows, rows * cut().stride);
        };
        if (many_types) return shares.for_each([&](const type_usage& u) { add(u.type, (u.rows + 128) / 256); });
        living -= static_cast<std::int64_t>(caches_.count());
        if (living > 0) add(config().type != nullptr ? config().type : &untyped, static_cast<std::uint64_t>(living));
    }

    ALLOT_OUTLINE_OF(fixed_heap) void visit_pages(page_visitor visit, void* context) noexcept override {
        const detail::lock_guard hold(store().lock());
        const detail::user_call here{detail::user_call::kind::visit};
        store().pages().for_each([&](page& p) {
            const std::int64_t used = p.used();
            visit(context, {p.base(), p.pages(), p.cut.capacity, used > 0 ? static_cast<std::size_t>(used) : 0});
        });
    }

    // Calls visit(page, row) for every slot ever handed out. No other thread may use the heap meanwhile.
    template <class Visit> void visit_slots(Visit visit) noexcept {
        store().pages().for_each([&](page& p) {
            for (std::uint32_t i = 0; i < p.fresh.load(std::memory_order_relaxed); ++i) visit(p, p.row(i));
        });
    }

    // For rows without link counts: free slots look the same. Notes which slots hold rows, until live.end(). A slot
    // that comes to a cache or leaves it at this moment may be noted wrongly: no live row of the caller. False: no
    // memory.
    bool find_live() noexcept {
        while (!live.is_known()) {
            const std::size_t most = pages() / config().pages;
            if (!live.begin(most, cut().capacity)) return false;
            const detail::lock_guard hold(store().lock());
            if (store().pages().size() <= most) note_live();
            else live.end(); // other threads have added pages
        }
        return true;
    }
    // Whether the slot held a row then. Requires find_live().
    bool was_live(page& p, std::byte* row) noexcept { return live.has(p.number, p.index(row)); }
    // Whether the slot may hold a row. True for a live row of the caller: a cache that changes at this moment may show
    // it once, by a stale word, but not again and again.
    bool is_used(page& p, std::byte* row) noexcept {
        for (int look = 0; look != 4; ++look) {
            const detail::lock_guard hold(store().lock());
            if (!is_found_free(p, row)) return true;
        }
        return false;
    }

    std::size_t begin_moves() noexcept override { return store().begin_moves() * config().pages; }
    ALLOT_OUTLINE_OF(fixed_heap) void end_moves() noexcept override {
        marked = 0;
        store().end_moves();
    }
    std::size_t exchange(std::byte* const* old, std::size_t n, std::byte** slots, std::size_t most) noexcept override {
        return store().exchange(old, n, slots, most);
    }

    void visit_rows(row_visitor visit, void* context) noexcept override { config().visit_rows(*this, visit, context); }

    const row_ops* kind() const noexcept override { return config().ops; }

    void set_abandoned(bool now) noexcept override { caches_.set_past_caches(caches_type::abandoned, now); }
    void set_shut(bool now) noexcept override { caches_.set_past_caches(caches_type::shut, now); }
    ALLOT_OUTLINE_OF(fixed_heap) void flush_shared() noexcept override { caches_.flush_shared(); }
    void return_all() noexcept override {
        flush_shared();
        full_fence(); // as in enter_quarantine()
        reclaim(true);
        report_found_damage();
    }
    bool is_idle() noexcept override {
        if (!caches_.is_abandoned()) return false;
        const detail::lock_guard hold(store().lock());
        return store().pages().size() == 0 && caches_.users() == 0 && store().guards().damage_is_reported();
    }
    bool has_users() noexcept override { return handles.load(std::memory_order_relaxed) != 0 || users() != 0; }

    ALLOT_OUTLINE_OF(fixed_heap) std::size_t drop_pages() noexcept override {
        leaving_pages<page> leaving{provider()};
        drop_pages(leaving);
        return leaving.give();
    }

    std::size_t pages() noexcept override {
        const detail::lock_guard hold(store().lock());
        return store().pages().size() * config().pages;
    }

    // No other thread may use the heap meanwhile.
    ALLOT_OUTLINE_OF(fixed_heap) bool valid() noexcept override {
        const detail::lock_guard hold(store().lock());
        bool good = store().pages().valid();
        store().pages().for_each([&](page& p) {
            good = good && p.valid(caches_.uncounted(p)) && store().guards().is_undamaged(store().layout(), p);
        });
        return good;
    }

  private:
    store_type& store() noexcept { return caches_.store(); }
    const store_type& store() const noexcept { return caches_.store(); }

    // Slots that hold a row or are in a cache. Requires the store's lock.
    std::int64_t used() noexcept {
        std::int64_t n = 0;
        store().pages().for_each([&](page& p) { n += p.used(); });
        return n;
    }
    // Requires the store's lock. `keeps`: may keep one page.
    void collect(bool keeps, leaving_pages<page>& leaving) noexcept {
        if (!caches_.is_releasing_all()) store().collect(keeps && !caches_.is_abandoned(), leaving);
    }
    ALLOT_OUTLINE_OF(fixed_heap) std::size_t drop_pages(leaving_pages<page>& leaving) noexcept {
        caches_.forget_waiting();
        return store().drop_pages(leaving);
    }
    // Requires the store's lock.
    void note_live() noexcept {
        std::uint32_t number = 0;
        store().pages().for_each([&](page& p) {
            p.number = ++number;
            live.add(p.number, p.fresh.load(std::memory_order_relaxed));
            p.slots.visit_free(p.base(), cut(), [&](std::uint32_t slot) { live.remove(p.number, slot); });
        });
        caches_.visit_cached([&](page& p, std::byte* slot) { live.remove(p.number, p.index(slot)); });
    }
    // In its page, or in a cache. Requires the store's lock.
    bool is_found_free(page& p, std::byte* row) noexcept {
        const std::uint32_t at = p.index(row);
        bool found = at >= p.fresh.load(std::memory_order_relaxed);
        p.slots.visit_free(p.base(), cut(), [&](std::uint32_t slot) { found = found || slot == at; });
        caches_.visit_cached([&](page&, std::byte* slot) { found = found || slot == row; });
        return found;
    }

    caches_type caches_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
