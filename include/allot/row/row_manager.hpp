// row_manager<Set>: link-counted rows of any size under one limit. <allot/row_manager.hpp> shows the call path.
//
// Invariant: charged bytes = the pages of its heaps and huge rows x the page size, and books; never above the limit.
// Cost: about 15 instructions per allocate and per release through local(); without a handle one atomic exchange more,
// under heap::per_thread a thread-local load more. 8 KiB per manager and 3.25 KiB per heap.
// Threads: any, unless a member says otherwise. Source: HPCC Roxie's row manager (roxiemem), 2009.
#pragma once

#include <allot/account/forward.hpp>
#include <allot/config.hpp>
#include <allot/core/describe.hpp>
#include <allot/core/diagnose.hpp>
#include <allot/core/values.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/row/compiled_rows.hpp>
#include <allot/row/moving/resize.hpp>
#include <allot/row/moving/row_mover.hpp>
#include <allot/row/row_access.hpp>
#include <allot/row/row_calls.hpp>
#include <allot/row/row_core.hpp>
#include <allot/row/row_stats.hpp>
#include <allot/row/row_tenant.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// Allocates link-counted rows of any size under one limit, as the policies of `Set` say.
/// Rows outlive handles, but not the manager.
template <class Set>
class row_manager
    : public detail::row_calls<row_manager<Set>, detail::row_policies<detail::answers_of<Set, product::row_manager>>,
                               std::size_t, const row_type&> {
    using answers = detail::answers_of<Set, product::row_manager>;
    using core_type = detail::row_core<answers>;
    using row_types = detail::row_types<core_type>;
    using policies = typename core_type::policies;
    template <class Changed> using fixed = typename core_type::template fixed<Changed>;

  public:
    using set = Set;

    /// Creates a manager from these values, in any order:
    ///   name, leak_sink, damage_sink, page_bytes, reserve_bytes
    ///   limit                  unless the set says ledger::none
    ///   account                the parent of the manager's own one, under ledger::tree
    ///   watermark              of the manager's own account, under ledger::tree
    ///   Arena                  under page::of<Arena>, required; then no page_bytes, no reserve_bytes
    ///   std::span<std::byte>   the bytes to use, under page::borrowed, required; then no reserve_bytes
    ///   Api, device_id         under page::on_device<Api>; Api is required unless its type is empty
    /// A value that is given twice, is missing, or has no use in the set is rejected at compile time.
    /// Requires: the account, the arena, the bytes and the text of the name outlive the manager.
    /// Throws: out_of_memory if there is no address space, or the account refuses the books; without exceptions it
    /// writes the report and aborts.
    template <class... Values>
    explicit row_manager(Values&&... values)
        : core_({detail::type_name_c_str<Set>(), value_or<allot::name>(allot::name{""}, values...).text, this,
                 value_or<damage_sink>({}, values...)},
                values...),
          leaks_(value_or<leak_sink>({&detail::leaks_to_stderr}, values...)) {
        detail::check_values<product::row_manager, Set, accepted, Values...>();
        detail::check_needed<product::row_manager, Set, typename policies::arena::needed, Values...>();
        if constexpr (policies::watch::at_peak) core_.ledger().recorder().ask(&row_types::count_types_for_peak, &core_);
        arena().add(tenant_); // from here on, others who are short of memory ask it
        if constexpr (policies::in_tree) core_.ledger().join(tenant_);
    }
    row_manager(const row_manager&) = delete;
    row_manager& operator=(const row_manager&) = delete;

    /// Reports rows that were not released to the leak_sink and frees their pages, without calling destructors.
    /// Requires: no thread uses the manager or a row; all handles are destroyed (those of heap::per_thread end here).
    /// Checked builds report a handle that is not, as misuse.
    ~row_manager() {
        if constexpr (policies::in_tree) core_.ledger().leave();
        arena().remove(tenant_);
        core_.end(leaks_);
    }

    // ---- rows of any size -----------------------------------------------------------------------------------

    /// As try_allocate(), and the row's first `bytes` are zero. Of a huge row only pages that had an earlier use are
    /// written.
    void* try_allocate_zeroed(std::size_t bytes, const row_type& type = untyped, charge_status* why = nullptr) noexcept
        requires(policies::host_touches_rows)
    {
        auto* const row = static_cast<std::byte*>(this->try_allocate(bytes, type, why));
        if (row == nullptr) return nullptr;
        const bool is_huge = detail::page_of_row(arena(), row)->tag == 0;
        if (is_huge) arena().zero(row, bytes);
        else std::memset(row, 0, bytes);
        return row;
    }
    /// Returns: true if the row may have another link; always true outside every arena.
    bool is_shared(const void* row) const noexcept
        requires(policies::counts)
    {
        return allot::is_shared(row);
    }
    /// Returns: bytes that the row may use; 0 outside every arena.
    std::size_t capacity(const void* row) const noexcept {
        if constexpr (!policies::counts && policies::host_touches_rows && ALLOT_CHECKED == 0)
            if (const std::size_t plain = detail::capacity_plain(core_, row); ALLOT_LIKELY(plain != 0)) return plain;
        return allot::capacity(row);
    }
    /// Returns: the capacity that a row for such a request would have; 0: no row can be so large, or it is misuse.
    std::size_t capacity_for(std::size_t bytes, const row_type& type = untyped) const noexcept {
        return detail::capacity_for(core_, bytes, type);
    }
    /// Gives a row a capacity of at least `bytes`, and keeps its first `keep` bytes. A huge row grows and shrinks by
    /// pages, in place where it can; another row never shrinks, and moves where its size class is too small.
    /// Requires: a live row of this manager that no other thread uses. Other addresses fail, and are reported as misuse in
    /// checked builds; without counts only these know a released row from a live one.
    /// Returns: the row, at its address or another; it has no seal if anything changed. Null under oom::null if it
    /// fails: the limit refuses, the row has several links, or it would have to move and its type cannot
    /// (row_type::can_move); then the row is as it was.
    /// Throws: out_of_memory under oom::raise.
    void* resize(void* row, std::size_t keep, std::size_t bytes)
        requires(policies::rows_move)
    {
        if (void* const plain = detail::resize_plain(core_, row, keep, bytes)) return plain;
        detail::memory_request asked{bytes};
        asked.judged = policies::waits;
        const auto again = [&] { return resize(asked, row, keep, detail::at_once{}); };
        void* const resized = again();
        return resized != nullptr ? resized : core_.climb_or_fail(asked, "a resized row", again, [] {});
    }
    /// As resize(), but returns null if it fails. Under a cost_cap it calls no dearer reclaimers.
    void* try_resize(void* row, std::size_t keep, std::size_t bytes, charge_status* why = nullptr) noexcept
        requires(policies::rows_move)
    {
        if (void* const plain = detail::resize_plain(core_, row, keep, bytes)) {
            if (why != nullptr) *why = {};
            return plain;
        }
        return try_resize(row, keep, bytes, detail::at_once{}, why);
    }
    /// The same for a row that other threads read, or reclaimers write: calls publish(move) once if the row has to
    /// change, and holds no lock then. publish() keeps them out, calls move(), which returns a resized_row, publishes
    /// that, and lets them in. Old memory is freed after it. Without a call of move() nothing changes. The row must
    /// not be released, resized or compacted meanwhile.
    /// Throws: what publish() throws.
    template <class Publish>
        requires(policies::rows_move)
    void* try_resize(void* row, std::size_t keep, std::size_t bytes, Publish publish, charge_status* why = nullptr) {
        detail::memory_request asked{bytes};
        const auto again = [&] { return resize(asked, row, keep, publish); };
        void* resized = again();
        if (resized == nullptr) resized = core_.climb(asked, again, [] {});
        asked.report(why, resized != nullptr);
        return resized;
    }
    /// Marks the row as constructed: the last release calls its type's `destroy`, if it has one.
    void finalize(void* row) noexcept
        requires(policies::counts) && (policies::host_touches_rows)
    {
        allot::finalize(row);
    }

    // ---- handles --------------------------------------------------------------------------------------------

    /// Opens a heap for rows of one size and type. as<...> replaces policies of the set for this heap.
    /// Its rows are aligned to type.align, at least to 4; if that is 0, to 8, or to 4 under size::packed.
    /// Requires: type outlives the manager.
    /// Returns: a handle (row_heap), to be destroyed before the manager.
    /// Throws: out_of_memory, also under oom::null, if the heap cannot be allocated or a row of this size and alignment
    /// does not fit a page; without exceptions it writes the report and aborts.
    template <class... Answers> auto heap(as_t<Answers...>, std::size_t bytes, const row_type& type = untyped) {
        if constexpr (detail::check_heap<Set, as_t<Answers...>>())
            return core_
                .template heap_for<detail::answers_of<detail::overridden<Set, as_t<Answers...>>, product::row_manager>>(
                    bytes, type);
        else return detail::anything{};
    }
    auto heap(std::size_t bytes, const row_type& type = untyped) -> fixed<answers> {
        return core_.template heap_for<answers>(bytes, type);
    }

    /// Returns: a handle for one thread, the fastest way to allocate and release; to be destroyed before the manager.
    local_rows<Set> local() noexcept { return local_rows<Set>(*this); }

    // ---- memory ---------------------------------------------------------------------------------------------

    /// Returns every page without rows to the arena. A private arena keeps it, and it stays charged as idle memory
    /// until it returns to the system: trim(), or a shortage. Empties the shared caches and, under heap::per_thread,
    /// those of all threads; slots in caches of handles keep their pages. May wait for another thread that does the
    /// same.
    /// Returns: bytes.
    std::size_t release_empty_pages() noexcept {
        const std::size_t bytes = core_.pages().reclaim_all() << arena().page_shift();
        core_.heaps().for_each([](detail::heap_base& heap) { heap.report_found_damage(); });
        core_.pages().record(watch_event::reclaimed, bytes);
        core_.pages().settled();
        return bytes;
    }
    /// Moves rows out of sparse pages into as few as possible, puts their new addresses into the span, and returns the
    /// pages that are empty then, as release_empty_pages() does. Rows with several links stay, and those whose type
    /// cannot move (row_type::can_move). Needs no memory, and never fails. Moves no huge row.
    /// Requires: each row is in the span once, no other thread uses it, and nothing else has its address. Other threads
    /// may use all other rows. One thread at a time; others wait.
    /// Returns: what was done. Complexity: linear in the rows of the span and the pages held.
    compaction compact(std::span<void*> rows, const compaction_budget& budget = {}) noexcept {
        static_assert(policies::rows_move, "allot: compact() needs pages that provide property::movable and "
                                           "property::host_accessible; rows on a device: rows_in_flight::compact()");
        return compactor_.run(core_.pages(), this, [rows](auto call) noexcept { call(rows); }, budget);
    }
    /// Returns: bytes charged now: pages held x page size, stats().idle and stats().books.
    std::size_t used() const noexcept
        requires(policies::charges)
    {
        return core_.ledger().used();
    }
    /// Returns: the highest number of bytes charged at once, by requests that succeeded.
    std::size_t peak() const noexcept
        requires(policies::charges)
    {
        return core_.ledger().peak();
    }
    /// Returns: the manager's own limit in bytes; SIZE_MAX: none. An account above it may have a lower one.
    std::size_t limit() const noexcept
        requires(policies::charges)
    {
        return core_.ledger().limit();
    }
    /// Returns: page requests and refusals so far, and the bytes charged and refunded.
    charge_stats charges() const noexcept
        requires(policies::watch::counts)
    {
        return core_.ledger().charges();
    }
    /// Sets the limit for later requests. Pages already held stay, also if they exceed it.
    void set_limit(std::size_t bytes) noexcept
        requires(policies::charges)
    {
        core_.ledger().set_limit(bytes);
    }
    /// release_empty_pages(), then returns the arena's free pages to the system; not those that are preallocated,
    /// borrowed, or kept by retain::never. Returns: bytes returned to the system.
    std::size_t trim() noexcept {
        release_empty_pages();
        return core_.pages().trim();
    }
    /// Returns: the number of live rows; exact while no other thread allocates or releases.
    /// Complexity: linear in the pages held.
    std::size_t live_rows() const noexcept { return core_.live_rows(); }
    /// Calls visit(const heap_usage&) for each heap that holds pages, then once for all huge rows.
    template <class Visit> void usage(Visit visit) const { core_.usage(visit); }
    /// Returns: statistics of now. Allocates nothing.
    /// Complexity: linear in the pages held and in the arena's committed range.
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
                arena_now.largest_free_run,
                core_.pages().idle(),
                detail::charged_books(core_.ledger())};
    }
    /// Returns: rows and bytes by row type. A heap with rows of many types is counted up to 64 Ki slots, and estimated
    /// from as many beyond. Holds a heap's lock while it counts, so requests for slots of that heap wait.
    type_histogram usage_by_type() const noexcept {
        type_histogram all;
        row_types::count_types(core_, all, detail::histogram_now);
        return all;
    }
    /// Returns: rows and bytes by row type at the peak: a snapshot taken at most 1/16 below it.
    peak_usage usage_at_peak() const noexcept
        requires(policies::watch::at_peak)
    {
        return core_.ledger().recorder().at_peak();
    }
    /// Calls visit(const traced_event&, nanoseconds since construction) for the last events, the oldest first.
    template <class Visit>
    void visit_trace(Visit visit) const
        requires(policies::watch::events != 0)
    {
        core_.ledger().recorder().visit(visit);
    }
    /// Returns: the number of events so far; only the last ones are kept.
    std::uint64_t trace_events() const noexcept
        requires(policies::watch::events != 0)
    {
        return core_.ledger().recorder().events();
    }
    /// Calls visit(const page_use&) for each page of slots, and once for all pages of a huge row, in no order. For
    /// pages of slots the heap's lock is held: visit must not call allot, other objects neither.
    template <class Visit> void visit_pages(Visit visit) const {
        core_.heaps().for_each([&](detail::heap_base& heap) {
            heap.visit_pages([](void* to, const page_use& use) { (*static_cast<Visit*>(to))(use); }, &visit);
        });
        core_.huge().visit(SIZE_MAX, [&](const std::byte* first, std::size_t pages, const row_type*) {
            visit(page_use{.first = first, .pages = pages});
        });
    }
    /// Writes the limit, the largest heaps, and the arena; under ledger::tree also the top accounts. Allocates nothing.
    void report(text_writer& out) const noexcept { core_.report(out); }

    /// Returns: the manager's own account, a child of the one passed in. It lives as long as the manager.
    allot::account& account() const noexcept
        requires(policies::in_tree)
    {
        return core_.ledger().account();
    }
    // For buffers: the account from which those of `by` take blocks over; null: it is in another tree.
    allot::account* lender_to(const allot::account& by) const noexcept
        requires(policies::lends)
    {
        return core_.ledger().lender_to(by);
    }
    const char* name() const noexcept { return core_.name(); }
    /// Returns: the arena that the pages come from, private or shared.
    page_arena& arena() const noexcept { return core_.arena(); }
    /// Returns: true if the invariants of every heap and canary hold. Requires: no other thread uses the manager.
    bool valid() const noexcept {
        bool good = true;
        core_.heaps().for_each([&](detail::heap_base& heap) { good = good && heap.valid(); });
        return good && core_.huge().valid();
    }

  private:
    friend struct detail::row_access;
    friend detail::row_calls<row_manager, policies, std::size_t, const row_type&>;

    template <class... Charged, class... More>
    static types<Charged..., allot::name, leak_sink, damage_sink, More...> accepted_with(types<Charged...>,
                                                                                         types<More...>);
    using accepted =
        decltype(accepted_with(typename core_type::ledger_type::values{}, typename policies::arena::accepted{}));

    core_type& core() noexcept { return core_; }
    core_type& finder() noexcept { return core_; }
    detail::arena_bounds bounds() const noexcept { return arena().view(); }
    ALLOT_ALWAYS_INLINE void* pop(std::size_t bytes, const row_type& type) noexcept { return core_.pop(bytes, type); }
    template <class... Bytes> ALLOT_ALWAYS_INLINE void release_row(const void* row, Bytes... bytes) noexcept {
        core_.release(row, bytes...);
    }
    template <class Publish> void* resize(detail::memory_request& asked, void* row, std::size_t keep, Publish publish) {
        return detail::row_resizer(core_, asked, row, keep).run(publish);
    }

    core_type core_;
    detail::compactor compactor_;
    leak_sink leaks_;
    detail::row_tenant<core_type> tenant_{core_};
};

// For a set that is refused: one compile error, and a stub whose members cause no further ones.
template <class Set>
    requires(!well_formed<Set, product::row_manager>)
class row_manager<Set> : public detail::refused<Set, product::row_manager> {
    using detail::refused<Set, product::row_manager>::refused;
};

} // namespace allot::inline ALLOT_ABI
