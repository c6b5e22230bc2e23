// The row manager: link-counted rows of any size under one limit, from a named set of policies.
//
// Invariant: charged bytes are the pages that its heaps and huge rows hold, and never exceed the limit.
// Cost: through local() about 15 instructions to allocate and to release; through the manager itself one atomic
// exchange more, or a thread-local look-up under heap::per_thread. 8 KiB an object, and 1.5 KiB for each heap.
// Threads: any, unless a member says otherwise. Rows may be released by any thread, and outlive handles, but not
// the manager: rows that are left at its end are reported and their pages freed, without running destructors.
// Source: HPCC Roxie's row manager (roxiemem), 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/core/describe.hpp>
#include <allot/core/diagnose.hpp>
#include <allot/core/values.hpp>
#include <allot/ledger/forward.hpp>
#include <allot/page/arena_client.hpp>
#include <allot/row/row_access.hpp>
#include <allot/row/row_core.hpp>
#include <allot/row/row_reports.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {

// A manager's figures at a moment, in bytes.
struct row_stats {
    std::size_t charged = 0;    // pages held x page size
    std::size_t peak = 0;       // the most that was charged; its arena's where the set charges nobody
    std::size_t limit = 0;      // its arena's where the set charges nobody
    std::size_t committed = 0;  // of its arena
    std::size_t resident = 0;   // of its arena, as the system says now
    std::size_t live_rows = 0;  // rows, not bytes
    std::size_t live_bytes = 0; // what those rows may use: the rest of what is charged is headers, rounding, free slots
    std::size_t largest_free_run = 0; // of its arena
};

template <class Set> class row_manager {
    using core = detail::row_core<Set>;
    using policies = typename core::policies;
    template <class Changed> using fixed = typename core::template fixed<Changed>;

  public:
    using set = Set;

    // Takes, in any order: limit (where the set charges), the account to charge (where it says ledger::tree), name,
    // page_bytes, reserve_bytes, leak_sink, damage_sink; the arena where the set says page::of<Arena>, the caller's
    // bytes where it says page::borrowed, the api (unless it is an empty type) and a device_id where it says
    // page::on_device: then rows are a device's memory, and no member touches it. Throws out_of_memory when no address
    // space can be had (without exceptions: aborts with its page).
    template <class... Values>
    explicit row_manager(Values&&... values)
        : core_(value_or<allot::name>({""}, values...).text, this, values...),
          leaks_(value_or<leak_sink>({&detail::leaks_to_stderr}, values...)),
          client_(arena(), name(), &held, this, &reclaim_for_arena) {
        check_values<product::row_manager, Set, accepted, Values...>();
        check_needed<product::row_manager, Set, typename policies::arena::needed, Values...>();
        core_.context().write_report = [](void* self, text_writer& out) noexcept {
            static_cast<row_manager*>(self)->report(out);
        };
        if constexpr (policies::watch::at_peak) core_.ledger().recorder().ask(&histogram_for_peak, this);
        if constexpr (policies::in_tree) core_.ledger().set_stats_source(this, &item_stats_of<item_stats>);
    }
    row_manager(const row_manager&) = delete;
    row_manager& operator=(const row_manager&) = delete;

    ~row_manager() {
        if constexpr (policies::in_tree) core_.ledger().set_stats_source(nullptr, nullptr);
        client_.leave();
        core_.close_threads();
        detail::report_leaks(core_.heaps(), core_.huge(), name(), core::set_name(), leaks_);
        core_.huge().drop();
        core_.heaps().for_each([](heap_base& heap) {
            heap.drop_pages();
            delete &heap;
        });
    }

    // ---- rows of any size -----------------------------------------------------------------------------------

    // A row with one holder, its contents unspecified, aligned to 8 bytes or as its type asks (up to 64). 0 bytes
    // are a row too. On failure what the set's oom policy says: oom::raise throws out_of_memory, oom::null null.
    ALLOT_ALWAYS_INLINE void* allocate(std::size_t bytes, const row_type& type = untyped) {
        if (void* const row = try_allocate(bytes, type); ALLOT_LIKELY(row != nullptr)) return row;
        return core_.refuse(bytes, type.name);
    }
    // The same; null on failure.
    ALLOT_ALWAYS_INLINE void* try_allocate(std::size_t bytes, const row_type& type = untyped) noexcept {
        return core_.try_allocate(bytes, type);
    }
    // A constructed T. Only where rows are counted: a row_ptr that is copied links.
    template <class T, class... Args>
        requires(policies::counts) && (policies::host_touches_rows)
    row_ptr<T> make(Args&&... args) {
        return core_.template construct<T>(allocate(sizeof(T), row_type_of<T>), std::forward<Args>(args)...);
    }

    // One more holder. Addresses outside the manager's arena are left alone (a checked build tells when they are
    // rows of another arena).
    ALLOT_ALWAYS_INLINE void link(const void* row) noexcept
        requires(policies::counts)
    {
        core_.link(row);
    }
    // One holder fewer; the last one destroys and frees the row. Never waits.
    ALLOT_ALWAYS_INLINE void release(const void* row) noexcept { core_.release(row); }
    // The same for a row that was asked for with so many bytes: quicker under heap::per_thread.
    ALLOT_ALWAYS_INLINE void release(const void* row, [[maybe_unused]] std::size_t bytes) noexcept {
        if constexpr (policies::per_thread)
            if (local_rows<Set>* const mine = core_.find_local_rows()) return mine->release(row, bytes);
        release(row);
    }
    bool is_shared(const void* row) const noexcept
        requires(policies::counts)
    {
        return allot::is_shared(row);
    }
    std::size_t capacity(const void* row) const noexcept { return allot::capacity(row); }
    // The row is constructed: its type's destructor runs at the last release.
    void finalize(void* row) noexcept
        requires(policies::counts) && (policies::host_touches_rows)
    {
        allot::finalize(row);
    }

    // ---- handles --------------------------------------------------------------------------------------------

    // A heap for rows of one size and type; `as<...>` changes the set's answers for it. The type must outlive the
    // manager. Whatever the oom policy, throws (or aborts, without exceptions) out_of_memory when the heap's few bytes
    // cannot be had, its rows do not fit a page, or cannot be aligned so.
    template <class... Answers> auto heap(as_t<Answers...>, std::size_t bytes, const row_type& type = untyped) {
        if constexpr (check_heap<Set, as_t<Answers...>>())
            return core_.template heap_for<overridden<Set, as_t<Answers...>>>(bytes, type);
        else return detail::anything{};
    }
    auto heap(std::size_t bytes, const row_type& type = untyped) -> fixed<Set> {
        return core_.template heap_for<Set>(bytes, type);
    }

    // The calling thread's own handle: the quick way. It must go before the manager.
    local_rows<Set> local() noexcept { return local_rows<Set>(core_); }

    // ---- memory ---------------------------------------------------------------------------------------------

    // Gives every page without rows back to the arena, caches of ended calls included (not those of handles and
    // threads that are still in use); returns bytes.
    std::size_t release_empty_pages() noexcept {
        if constexpr (policies::per_thread)
            if (local_rows<Set>* const mine = core_.find_local_rows()) mine->flush();
        const std::size_t bytes = core_.heaps().reclaim(true) << arena().page_shift();
        core_.heaps().for_each([](heap_base& heap) { heap.report_found_damage(); });
        core_.pages().record(watch_event::reclaimed, bytes);
        return bytes;
    }
    std::size_t used() const noexcept
        requires(policies::charges)
    {
        return core_.ledger().used();
    }
    std::size_t peak() const noexcept
        requires(policies::charges)
    {
        return core_.ledger().peak();
    }
    std::size_t limit() const noexcept
        requires(policies::charges)
    {
        return core_.ledger().limit();
    }
    // What happened at the limit so far.
    charge_stats charges() const noexcept
        requires(policies::watch::counts)
    {
        return core_.ledger().charges();
    }
    // Takes effect for later requests; pages already held stay.
    void set_limit(std::size_t bytes) noexcept
        requires(policies::charges)
    {
        core_.ledger().set_limit(bytes);
    }
    // The same, and the arena's free pages go back to the system; returns bytes of the latter.
    std::size_t trim() noexcept {
        release_empty_pages();
        const std::size_t bytes = arena().trim();
        core_.pages().record(watch_event::trimmed, bytes);
        return bytes;
    }
    // Exact while no other thread allocates or releases.
    std::size_t live_rows() const noexcept {
        std::size_t n = core_.huge().rows();
        core_.heaps().for_each([&](heap_base& heap) { n += heap.usage().live_rows; });
        return n;
    }
    // Visits the figures of every heap that holds pages, the huge rows last.
    template <class Visit> void usage(Visit visit) const {
        core_.heaps().for_each([&](heap_base& heap) {
            if (const heap_usage u = heap.usage(); u.pages != 0) visit(u);
        });
        if (core_.huge().rows() != 0) visit(huge_usage());
    }
    row_stats stats() const noexcept {
        const auto arena_now = arena().stats();
        std::size_t live = 0, bytes = 0;
        usage([&](const heap_usage& u) {
            live += u.live_rows;
            bytes += u.slot_bytes != 0 ? u.live_rows * u.row_bytes : u.bytes;
        });
        return {core_.held_bytes(),
                core_.peak_bytes(),
                core_.limit_bytes(),
                arena_now.committed,
                arena().resident(),
                live,
                bytes,
                arena_now.largest_free_run};
    }
    // Rows and bytes by row type now. Types are exact up to 64 Ki slots in use a heap with rows of many types, and
    // estimated from as many beyond; a heap is kept from taking slots while it is looked at.
    type_histogram usage_by_type() const noexcept {
        type_histogram all;
        count_types(all, histogram_now);
        return all;
    }
    // The same when most was charged, to 1/16.
    peak_usage usage_at_peak() const noexcept
        requires(policies::watch::at_peak)
    {
        return core_.ledger().recorder().at_peak();
    }
    // Visits the last events (traced_event, nanoseconds since the manager was made), the oldest first.
    template <class Visit>
    void visit_trace(Visit visit) const
        requires(policies::watch::events != 0)
    {
        core_.ledger().recorder().visit(visit);
    }
    // Events so far; all but the last ones are overwritten.
    std::uint64_t traced() const noexcept
        requires(policies::watch::events != 0)
    {
        return core_.ledger().recorder().events();
    }
    // Visits what each page is used for (page_use), in no order; a heap is kept from taking slots meanwhile.
    template <class Visit> void visit_pages(Visit visit) const {
        core_.heaps().for_each([&](heap_base& heap) {
            heap.visit_pages([](void* to, const page_use& use) { (*static_cast<Visit*>(to))(use); }, &visit);
        });
        core_.huge().visit(SIZE_MAX, [&](const std::byte* first, std::size_t pages, const row_type*) {
            visit(page_use{first, pages, 0, 0});
        });
    }
    // One page: limits, the arena, the largest holders.
    void report(text_writer& out) const noexcept {
        out.put("row manager ").put(name()).put(" (set ").put(core::set_name()).put(")").newline();
        const std::size_t now = core_.held_bytes(), most = core_.limit_bytes();
        out.put("  limit ");
        if (most == SIZE_MAX) out.put("none of its own"); // an account above has one
        else out.bytes(most);
        out.put(", charged ").bytes(now).put(", peak ").bytes(core_.peak_bytes());
        if (most != SIZE_MAX) out.put(", free ").bytes(most > now ? most - now : 0);
        out.newline();
        detail::top_heaps top;
        usage([&](const heap_usage& u) { top.add(u); });
        out.put("  held by").newline();
        top.write(out);
        arena().report(out);
        if constexpr (policies::in_tree) core_.ledger().report(out);
    }

    // Its own, which its pages are charged to, below the one that it was given; it lives as long as the manager.
    allot::account& account() const noexcept
        requires(policies::in_tree)
    {
        return core_.ledger().account();
    }
    const char* name() const noexcept { return core_.name(); }
    arena_base& arena() const noexcept { return core_.arena(); }
    // Invariants of every heap; no other thread may use the manager meanwhile.
    bool valid() const noexcept {
        bool good = true;
        core_.heaps().for_each([&](heap_base& heap) { good = good && heap.valid(); });
        return good && core_.huge().valid();
    }

  private:
    friend struct detail::row_access;

    template <class... Charged, class... More>
    static types<Charged..., allot::name, leak_sink, damage_sink, More...> accepted_with(types<Charged...>,
                                                                                         types<More...>);
    using accepted =
        decltype(accepted_with(typename core::ledger_type::values{}, typename policies::arena::accepted{}));

    static std::size_t held(const void* self) noexcept {
        return static_cast<const row_manager*>(self)->core_.held_bytes();
    }
    // What the system gives to an arena of its own; one that is shared is nobody's alone.
    template <class Stats> static Stats item_stats_of(const void* self) noexcept {
        const auto& rows = *static_cast<const row_manager*>(self);
        if constexpr (policies::shares_arena) return {rows.core_.held_bytes(), 0, 0};
        else return {rows.core_.held_bytes(), rows.arena().stats().committed, rows.arena().resident()};
    }
    static std::size_t reclaim_for_arena(const void* self) noexcept {
        return static_cast<const row_manager*>(self)->core_.heaps().reclaim(true);
    }

    static void histogram_for_peak(void* self, type_histogram& into) noexcept {
        static_cast<const row_manager*>(self)->count_types(into, histogram_at_peak);
    }
    void count_types(type_histogram& into, const histogram_budget& budget) const noexcept {
        std::size_t heaps = 0;
        core_.heaps().for_each([&](heap_base& heap) {
            if (heaps++ < budget.heaps) heap.count_types(into, budget);
            else into.estimated();
        });
        core_.huge().count_types(into, budget.slots);
    }
    heap_usage huge_usage() const noexcept {
        heap_usage u;
        u.name = "huge";
        u.live_rows = core_.huge().rows();
        u.pages = core_.huge().pages();
        u.bytes = u.pages << arena().page_shift();
        return u;
    }

    core core_;
    leak_sink leaks_;
    arena_client client_; // last: others may ask from now on
};

// A set that makes no row manager: its mistake is told once, and everything else is quiet.
template <class Set>
    requires(!well_formed<Set, product::row_manager>)
class row_manager<Set> : public detail::refused<Set, product::row_manager> {
    using detail::refused<Set, product::row_manager>::refused;
};

} // namespace allot::inline ALLOT_ABI
