// The row manager: link-counted rows of any size under one limit, from a named set of policies.
//
//   row_manager -- buckets (a heap for each size class) --.
//               -- fixed heaps made by heap(...)         --+-- family (limit) -- arena (pages)
//               -- huge rows (runs of pages)             --'
//
// Invariant: charged bytes are the pages that its heaps and huge rows hold, and never exceed the limit.
// Cost: through local() about 15 instructions to allocate and to release; through the manager itself one atomic
// exchange more, or a thread-local look-up under heap::per_thread. 8 KiB an object, and 1.5 KiB for each heap.
// Threads: any, unless a member says otherwise. Rows may be released by any thread, and outlive handles, but not
// the manager: rows that are left at its end are reported and their pages freed, without running destructors.
// Source: HPCC Roxie's row manager (roxiemem), 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/describe.hpp>
#include <allot/core/diagnose.hpp>
#include <allot/core/error.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/heap/family.hpp>
#include <allot/page/private_arena.hpp>
#include <allot/row/buckets.hpp>
#include <allot/row/huge_rows.hpp>
#include <allot/row/local_rows.hpp>
#include <allot/row/row_heap.hpp>
#include <allot/row/row_policies.hpp>
#include <allot/row/row_ptr.hpp>
#include <allot/row/row_reports.hpp>
#include <allot/row/row_sampler.hpp>
#include <allot/row/thread_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

// A manager's figures at a moment, in bytes.
struct row_figures {
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
    using policies = detail::row_policies<Set>;
    using rows = typename policies::rows;
    using ledger_type = typename policies::ledger;
    using family_type = heap_family<ledger_type>;
    template <class Changed> using fixed = row_heap<Set, detail::row_policies<Changed>>;

  public:
    using set = Set;

    // Takes, in any order: limit (where the set charges), the account to charge (where it says ledger::tree), name,
    // page_bytes, reserve_bytes, leak_sink, damage_sink; the arena where the set says page::of<Arena>, the caller's
    // bytes where it says page::borrowed, the api (unless it is an empty type) and a device_id where it says
    // page::on_device: then rows are a device's memory, and no member touches it. Throws out_of_memory when no address
    // space can be had (without exceptions: aborts with its page).
    template <class... Values>
    explicit row_manager(Values&&... values)
        : name_(value_or<allot::name>({""}, values...).text),
          arena_(name_, value_or<allot::limit>({SIZE_MAX}, values...).bytes, values...),
          ledger_(value_or<allot::limit>({SIZE_MAX}, values...).bytes, name_, values...), family_(arena(), ledger_),
          buckets_(family_, context_), huge_(family_, context_),
          leaks_(value_or<leak_sink>({&detail::leaks_to_stderr}, values...)),
          holder_(arena(), name_, &held, this, &reclaim_for_others) {
        check_values<product::row_manager, Set, accepted, Values...>();
        check_needed<product::row_manager, Set, typename policies::arena::needed, Values...>();
        context_.set = set_name();
        context_.name = name_;
        context_.manager = this;
        context_.damage = value_or<damage_sink>({}, values...);
        context_.write_report = [](void* self, text_writer& out) noexcept {
            static_cast<row_manager*>(self)->report(out);
        };
        if constexpr (policies::watch::at_peak) ledger_.recorder().ask(&census_for_peak, this);
        if constexpr (policies::in_tree) ledger_.tells(this, &tell_account);
        if constexpr (policies::per_thread) threads_ = new (std::nothrow) detail::thread_rows<Set>(*this);
    }
    row_manager(const row_manager&) = delete;
    row_manager& operator=(const row_manager&) = delete;

    ~row_manager() {
        if constexpr (policies::in_tree) ledger_.tells(nullptr, nullptr);
        holder_.leave();
        if constexpr (policies::per_thread)
            if (threads_ != nullptr) detail::thread_rows<Set>::close(threads_);
        detail::tell_leaks(family_, huge_, name_, set_name(), leaks_);
        huge_.drop();
        family_.for_each([](heap_base& heap) {
            heap.drop_pages();
            delete &heap;
        });
    }

    // ---- rows of any size -----------------------------------------------------------------------------------

    // A row with one holder, its contents unspecified, aligned to 8 bytes or as its type asks (up to 64). 0 bytes
    // are a row too. On failure what the set's oom policy says: oom::raise throws out_of_memory, oom::null null.
    ALLOT_ALWAYS_INLINE void* allocate(std::size_t bytes, const row_type& type = untyped) {
        if (void* const row = try_allocate(bytes, type); ALLOT_LIKELY(row != nullptr)) return row;
        return refuse(bytes, type.name);
    }
    // The same; null on failure.
    ALLOT_ALWAYS_INLINE void* try_allocate(std::size_t bytes, const row_type& type = untyped) noexcept {
        if constexpr (policies::per_thread)
            if (local_rows<Set>* const mine = thread_local_rows(); ALLOT_LIKELY(mine != nullptr))
                return mine->try_allocate(bytes, type);
        return try_allocate_shared(bytes, type, type_number(type));
    }
    // A constructed T. Only where rows are counted: a row_ptr that is copied links.
    template <class T, class... Args>
        requires(policies::counts) && (policies::host_touches_rows)
    row_ptr<T> make(Args&&... args) {
        return construct<T>(allocate(sizeof(T), row_type_of<T>), std::forward<Args>(args)...);
    }

    // One more holder. Addresses outside the manager's arena are left alone (a checked build tells when they are
    // rows of another arena).
    ALLOT_ALWAYS_INLINE void link(const void* row) noexcept
        requires(policies::counts)
    {
        link(row, arena().view());
    }
    // One holder fewer; the last one destroys and frees the row. Never waits.
    ALLOT_ALWAYS_INLINE void release(const void* row) noexcept {
        if (ALLOT_UNLIKELY(!arena().contains(row))) return not_ours(row);
        if constexpr (policies::per_thread)
            if (local_rows<Set>* const mine = threads_ != nullptr ? threads_->known() : nullptr)
                return mine->release(row);
        std::byte* const at = detail::bytes_of(row);
        auto& page = rows::page_at(arena().view(), at);
        if constexpr (policies::counts_first) {
            const auto word = rows::counting::word(at);
            const std::uint32_t now = word.load();
            if (ALLOT_LIKELY(now == word.alone && page.ops == &rows::ops)) return rows::release_alone(page, at);
            if (ALLOT_LIKELY(word.drop_shared(now))) return;
        } else if (ALLOT_LIKELY(page.ops == &rows::ops)) return rows::release(page, at);
        detail::release_in(arena(), row);
    }
    // The same for a row that was asked for with so many bytes: quicker under heap::per_thread.
    ALLOT_ALWAYS_INLINE void release(const void* row, [[maybe_unused]] std::size_t bytes) noexcept {
        if constexpr (policies::per_thread)
            if (local_rows<Set>* const mine = threads_ != nullptr ? threads_->known() : nullptr)
                return mine->release(row, bytes);
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
            return heap_for<overridden<Set, as_t<Answers...>>>(bytes, type);
        else return detail::anything{};
    }
    auto heap(std::size_t bytes, const row_type& type = untyped) -> fixed<Set> { return heap_for<Set>(bytes, type); }

    // The calling thread's own handle: the quick way. It must go before the manager.
    local_rows<Set> local() noexcept { return local_rows<Set>(*this); }

    // ---- memory ---------------------------------------------------------------------------------------------

    // Gives every page without rows back to the arena, caches of ended calls included (not those of handles and
    // threads that are still in use); returns bytes.
    std::size_t release_empty_pages() noexcept {
        if constexpr (policies::per_thread)
            if (local_rows<Set>* const mine = threads_ != nullptr ? threads_->known() : nullptr) mine->flush();
        const std::size_t bytes = family_.reclaim(true) << arena().page_shift();
        family_.for_each([](heap_base& heap) { heap.tell_found(); });
        family_.record(watch_event::reclaimed, bytes);
        return bytes;
    }
    std::size_t used() const noexcept
        requires(policies::charges)
    {
        return ledger_.used();
    }
    std::size_t peak() const noexcept
        requires(policies::charges)
    {
        return ledger_.peak();
    }
    std::size_t limit() const noexcept
        requires(policies::charges)
    {
        return ledger_.limit();
    }
    // What happened at the limit so far.
    charge_figures charges() const noexcept
        requires(policies::watch::counts)
    {
        return ledger_.charges();
    }
    // Takes effect for later requests; pages already held stay.
    void set_limit(std::size_t bytes) noexcept
        requires(policies::charges)
    {
        ledger_.set_limit(bytes);
    }
    // The same, and the arena's free pages go back to the system; returns bytes of the latter.
    std::size_t trim() noexcept {
        release_empty_pages();
        const std::size_t bytes = arena().trim();
        family_.record(watch_event::trimmed, bytes);
        return bytes;
    }
    // Exact while no other thread allocates or releases.
    std::size_t live_rows() const noexcept {
        std::size_t n = huge_.rows();
        family_.for_each([&](heap_base& heap) { n += heap.usage().live_rows; });
        return n;
    }
    // Visits the figures of every heap that holds pages, the huge rows last.
    template <class Visit> void usage(Visit visit) const {
        family_.for_each([&](heap_base& heap) {
            if (const heap_usage u = heap.usage(); u.pages != 0) visit(u);
        });
        if (huge_.rows() != 0) visit(huge_usage());
    }
    row_figures figures() const noexcept {
        const auto arena_now = arena().figures();
        std::size_t live = 0, bytes = 0;
        usage([&](const heap_usage& u) {
            live += u.live_rows;
            bytes += u.slot_bytes != 0 ? u.live_rows * u.row_bytes : u.bytes;
        });
        return {held_bytes(),       peak_bytes(), limit_bytes(), arena_now.committed,
                arena().resident(), live,         bytes,         arena_now.largest_free_run};
    }
    // Rows and bytes by row type now. Types are exact up to 64 Ki slots in use a heap with rows of many types, and
    // estimated from as many beyond; a heap is kept from taking slots while it is looked at.
    type_census usage_by_type() const noexcept {
        type_census all;
        take_census(all, census_now);
        return all;
    }
    // The same when most was charged, to 1/16.
    peak_usage usage_at_peak() const noexcept
        requires(policies::watch::at_peak)
    {
        return ledger_.recorder().at_peak();
    }
    // Visits the last events (traced_event, nanoseconds since the manager was made), the oldest first.
    template <class Visit>
    void visit_trace(Visit visit) const
        requires(policies::watch::events != 0)
    {
        ledger_.recorder().visit(visit);
    }
    // Events so far; all but the last ones are overwritten.
    std::uint64_t traced() const noexcept
        requires(policies::watch::events != 0)
    {
        return ledger_.recorder().events();
    }
    // Visits what each page is used for (page_use), in no order; a heap is kept from taking slots meanwhile.
    template <class Visit> void visit_pages(Visit visit) const {
        family_.for_each([&](heap_base& heap) {
            heap.visit_pages([](void* to, const page_use& use) { (*static_cast<Visit*>(to))(use); }, &visit);
        });
        huge_.visit(SIZE_MAX, [&](const std::byte* first, std::size_t pages, const row_type*) {
            visit(page_use{first, pages, 0, 0});
        });
    }
    // One page: limits, the arena, the largest holders.
    void report(text_writer& out) const noexcept {
        out.put("row manager ").put(name_).put(" (set ").put(set_name()).put(")").newline();
        const std::size_t now = held_bytes(), most = limit_bytes();
        out.put("  limit ");
        if (most == SIZE_MAX) out.put("none of its own"); // an account above has one
        else out.bytes(most);
        out.put(", charged ").bytes(now).put(", peak ").bytes(peak_bytes());
        if (most != SIZE_MAX) out.put(", free ").bytes(most > now ? most - now : 0);
        out.newline();
        detail::top_heaps top;
        usage([&](const heap_usage& u) { top.add(u); });
        out.put("  held by").newline();
        top.write(out);
        arena().report(out);
        if constexpr (policies::in_tree) ledger_.report(out);
    }

    // Its own, which its pages are charged to, below the one that it was given; it lives as long as the manager.
    allot::account& account() const noexcept
        requires(policies::in_tree)
    {
        return ledger_.account();
    }
    const char* name() const noexcept { return name_; }
    arena_base& arena() const noexcept { return arena_.get(); }
    // Invariants of every heap; no other thread may use the manager meanwhile.
    bool valid() const noexcept {
        bool good = true;
        family_.for_each([&](heap_base& heap) { good = good && heap.valid(); });
        return good && huge_.valid();
    }

    // ---- for handles ----------------------------------------------------------------------------------------

    row_context& context() noexcept { return context_; }
    auto& buckets() noexcept { return buckets_; }

    // An address outside the arena: nothing to do; in checked builds a row of another arena is told.
    void not_ours(const void* row) noexcept {
        if constexpr (ALLOT_CHECKED != 0)
            if (arena_at(row) != nullptr) context_.tell(misuse::not_shared_arena, "", nullptr, row);
    }
    // By a view of the manager's arena.
    ALLOT_ALWAYS_INLINE void link(const void* row, const detail::arena_view& in) noexcept
        requires(policies::counts)
    {
        if (ALLOT_UNLIKELY(!in.contains(row))) return not_ours(row);
        std::byte* const at = detail::bytes_of(row);
        if constexpr (policies::counts_in_front) rows::counting::word(at).link();
        else detail::link_in(arena(), at);
    }
    // Without the calling thread's caches.
    ALLOT_ALWAYS_INLINE void* try_allocate_shared(std::size_t bytes, const row_type& type,
                                                  std::uint32_t number) noexcept {
        const std::uint32_t index = buckets_.index(bytes);
        if (ALLOT_LIKELY(index != heap_plan::no_index && type.align <= 8 && number < type_table::checked))
            if (auto* const heap = buckets_.at(index)) return start(*heap, heap->pop(), number, bytes, type);
        return try_allocate_rare(bytes, type, number);
    }
    // A huge row, an alignment beyond the usual, or a mistake.
    ALLOT_NOINLINE void* try_allocate_rare(std::size_t bytes, const row_type& type, std::uint32_t number) noexcept {
        if (ALLOT_UNLIKELY(type.align > 64 || (type.align & (type.align - 1)) != 0)) {
            context_.tell(misuse::bad_alignment, "", &type, nullptr);
            return nullptr;
        }
        if (ALLOT_UNLIKELY(number >= type_table::checked)) {
            if (number == type_table::none) return nullptr;
            bytes = with_check(bytes, type);
        }
        const std::uint32_t index = buckets_.index(bytes);
        if (ALLOT_LIKELY(index != heap_plan::no_index))
            if (auto* const heap = buckets_.at(index, type.align))
                return start(*heap, heap->pop(), number, bytes, type);
        if (ALLOT_UNLIKELY(bytes > static_cast<std::size_t>(PTRDIFF_MAX))) {
            context_.tell(misuse::absurd_size, "", &type, nullptr);
            return nullptr;
        }
        return huge_.allocate(bytes, type.align, number);
    }
    // One row more, for who counts rows that need no handle.
    ALLOT_ALWAYS_INLINE void allocated(std::size_t bytes, const row_type& type) noexcept {
        sampler_.allocated(*this, bytes, type);
    }
    void sampled(std::size_t bytes, const row_type& type) noexcept {
        family_.record(watch_event::row, bytes, type.name);
    }
    // No memory: what the oom policy says.
    ALLOT_COLD void* refuse(std::size_t bytes, const char* what) {
        if constexpr (policies::oom::raises) raise_out_of_memory(bytes, what);
        family_.record(watch_event::out_of_memory, bytes, what);
        return nullptr;
    }
    [[noreturn]] ALLOT_COLD void raise_out_of_memory(std::size_t bytes, const char* what) {
        family_.record(watch_event::out_of_memory, bytes, what);
        char line[out_of_memory::line_bytes];
        text_writer text{line};
        text.put("allot: out of memory: ").bytes(bytes).put(" for ").put(what).put(" refused by ").put(set_name());
        if (*name_ != 0) text.put(" ").put(name_);
        text.put(": ").bytes(held_bytes()).put(" of ").bytes(limit_bytes()).put(" charged");
        raise(out_of_memory(text.view(), [&](text_writer& out) {
            out.put("out of memory: ").bytes(bytes).put(" for ").put(what).put(" refused").newline();
            report(out);
            out.put("  tried: empty pages of all heaps, the shared caches, single free slots").newline();
        }));
    }
    // Whether a T may lie in a row of such a heap and type; otherwise it is told.
    template <class T> bool suits(const heap_plan& plan, const row_type& type) const noexcept {
        const bool room = plan.row_bytes - type.check_bytes() >= sizeof(T) && plan.align >= alignof(T);
        const bool ends = std::is_trivially_destructible_v<T> || type.destroy != nullptr;
        if (!room) context_.tell(misuse::absurd_size, plan.name, &type, nullptr);
        else if (!ends) context_.tell(misuse::null_type, plan.name, &type, nullptr);
        return room && ends;
    }
    template <class T, class... Args> row_ptr<T> construct(void* row, Args&&... args) {
        if (row == nullptr) return nullptr;
        auto made =
            row_ptr<unsigned char>::adopt(static_cast<unsigned char*>(row)); // releases it if T's constructor throws
        T* object = nullptr;
        if constexpr (std::is_constructible_v<T, Args...>)
            object = std::construct_at(static_cast<T*>(row), std::forward<Args>(args)...);
        else object = ::new (row) T{std::forward<Args>(args)...}; // an aggregate
        static_cast<void>(made.detach());
        if constexpr (!std::is_trivially_destructible_v<T>) allot::finalize(object);
        return row_ptr<T>::adopt(object);
    }
    // A unique heap's handle has gone; the heap serves the next one that asks for its like, or waits for its rows.
    template <class Heap> void orphan(Heap& heap) noexcept {
        family_.record(watch_event::handle_closed, heap.cut().stride, heap.plan().name);
        heap.set_orphan();
        heap.reclaim(true);
        heap.tell_found();
    }
    // A handle of a heap that limits their number has gone.
    template <class Heap> void closed(Heap& heap) noexcept {
        family_.record(watch_event::handle_closed, heap.cut().stride, heap.plan().name);
        if (heap.close()) heap.reclaim(true);
    }

  private:
    template <class... Charged, class... More>
    static types<Charged..., allot::name, leak_sink, damage_sink, More...> accepted_with(types<Charged...>,
                                                                                         types<More...>);
    using accepted = decltype(accepted_with(typename ledger_type::values{}, typename policies::arena::accepted{}));

    static const char* set_name() noexcept { return type_name_c_str<Set>(); }
    static std::size_t held(const void* self) noexcept { return static_cast<const row_manager*>(self)->held_bytes(); }
    // What it is charged; without a ledger, what its heaps hold.
    std::size_t held_bytes() const noexcept {
        if constexpr (policies::charges) return ledger_.used();
        std::size_t pages = huge_.pages();
        family_.for_each([&](heap_base& heap) { pages += heap.usage().pages; });
        return pages << arena().page_shift();
    }
    std::size_t peak_bytes() const noexcept {
        if constexpr (policies::charges) return ledger_.peak();
        else return arena().figures().peak_taken;
    }
    std::size_t limit_bytes() const noexcept {
        if constexpr (policies::charges) return ledger_.limit();
        else return arena().limit();
    }

    // What the system gives to an arena of its own; one that is shared is nobody's alone.
    static item_figures tell_account(const void* self) noexcept {
        const auto& rows = *static_cast<const row_manager*>(self);
        if constexpr (policies::shares_arena) return {rows.held_bytes(), 0, 0};
        else return {rows.held_bytes(), rows.arena().figures().committed, rows.arena().resident()};
    }
    static std::size_t reclaim_for_others(const void* self) noexcept {
        return static_cast<const row_manager*>(self)->family_.reclaim(true);
    }

    ALLOT_ALWAYS_INLINE std::uint32_t type_number(const row_type& type) noexcept {
        if constexpr (policies::counts) return context_.types.number(type);
        return 0;
    }
    ALLOT_ALWAYS_INLINE local_rows<Set>* thread_local_rows() noexcept {
        return threads_ != nullptr ? threads_->here() : nullptr;
    }
    template <class Heap>
    ALLOT_ALWAYS_INLINE void* start(Heap& heap, std::byte* slot, std::uint32_t number, std::size_t bytes,
                                    const row_type& type) noexcept {
        if (slot == nullptr) return nullptr;
        rows::start(heap.cut(), false, arena().view(), slot, number);
        sampler_.allocated(*this, bytes, type);
        return slot;
    }
    // Room for the check of a type's rows; a size that cannot be stays as it is.
    static std::size_t with_check(std::size_t bytes, const row_type& type) noexcept {
        if (!policies::counts || bytes > static_cast<std::size_t>(PTRDIFF_MAX)) return bytes;
        return bytes + type.check_bytes();
    }
    // The heap that a set (the manager's, or one changed for a heap) gives to rows of this size and type.
    template <class Changed> fixed<Changed> heap_for(std::size_t bytes, const row_type& type) {
        using changed = detail::row_policies<Changed>;
        using changed_rows = typename changed::rows;
        using heap_type = typename changed_rows::heap;
        constexpr bool unique = changed::unique;
        constexpr bool one_type = changed::one_type;

        const std::uint32_t number = type_number(type);
        if ((type.align & (type.align - 1)) != 0 || type.align > 64)
            context_.tell(misuse::bad_alignment, "", &type, nullptr), raise_out_of_memory(bytes, type.name);
        if (number == type_table::none) raise_out_of_memory(bytes, type.name);
        bytes = with_check(bytes, type);
        const std::size_t least = changed::packed || type.align != 0 ? 4 : 8; // a link count lies in front
        const std::size_t align = type.align > least ? type.align : least;
        heap_type* found = nullptr;
        if constexpr (!one_type && !changed::limited && changed::bucketed && std::is_same_v<changed_rows, rows>) {
            if (const std::uint32_t index = buckets_.index(bytes); index != heap_plan::no_index)
                found = buckets_.at(index, align);
        } else {
            constexpr bool by_type = one_type || !changed::limited;
            heap_plan plan = changed_rows::plan(context_, by_type ? type.name : "shared", one_type ? &type : nullptr,
                                                round_to_class<changed>(bytes), align);
            plan.type_id = by_type ? number : 0;
            plan.exclusive = unique;
            if constexpr (changed::limited) plan.users = static_cast<std::uint32_t>(changed::use::users);
            found = find_or_make<heap_type>(plan);
        }
        if (found == nullptr) raise_out_of_memory(bytes, type.name);
        family_.record(watch_event::handle_opened, found->cut().stride, found->plan().name);
        return fixed<Changed>(*this, *found, type, number);
    }
    template <class Changed> std::size_t round_to_class(std::size_t bytes) const noexcept {
        if constexpr (Changed::bucketed && !Changed::unique)
            if (const std::uint32_t index = buckets_.index(bytes); index != heap_plan::no_index)
                return buckets_.row_bytes(index);
        return bytes;
    }
    // A heap of the same plan that may be shared, or an orphan without pages, or a new one.
    template <class Heap> Heap* find_or_make(const heap_plan& plan) {
        if (Heap::rows_per_page(plan, family_.page_bytes()) == 0) return nullptr;
        const std::lock_guard hold(making_);
        Heap* found = nullptr;
        family_.for_each([&](heap_base& base) {
            if (found != nullptr || base.kind() != plan.ops) return;
            auto& heap = static_cast<Heap&>(base);
            if (heap.plan() == plan && (!plan.exclusive || heap.reuse()) && (plan.users == 0 || heap.open()))
                found = &heap;
        });
        if (found != nullptr) return found;
        found = new (std::nothrow) Heap(family_, plan);
        if (found != nullptr && plan.users != 0) found->open();
        return found;
    }

    static void census_for_peak(void* self, type_census& into) noexcept {
        static_cast<const row_manager*>(self)->take_census(into, census_at_peak);
    }
    void take_census(type_census& into, const census_budget& budget) const noexcept {
        std::size_t heaps = 0;
        family_.for_each([&](heap_base& heap) {
            if (heaps++ < budget.heaps) heap.census(into, budget);
            else into.estimated();
        });
        huge_.census(into, budget.slots);
    }
    heap_usage huge_usage() const noexcept {
        heap_usage u;
        u.name = "huge";
        u.live_rows = huge_.rows();
        u.pages = huge_.pages();
        u.bytes = u.pages << arena().page_shift();
        return u;
    }

    const char* name_;
    row_context context_;
    typename policies::arena arena_;
    ALLOT_NO_UNIQUE_ADDRESS ledger_type ledger_;
    mutable family_type family_;
    detail::buckets<rows, typename policies::list, ledger_type> buckets_;
    mutable detail::huge_rows<ledger_type, policies::counts, typename policies::guard, typename policies::place> huge_;
    detail::thread_rows<Set>* threads_ = nullptr; // heap::per_thread only
    spin_lock making_;
    ALLOT_NO_UNIQUE_ADDRESS detail::shared_row_sampler<policies::watch::every_nth_row> sampler_;
    leak_sink leaks_;
    arena_holder holder_; // last: others may ask from now on
};

// A set that makes no row manager: its mistake is told once, and everything else is quiet.
template <class Set>
    requires(!well_formed<Set, product::row_manager>)
class row_manager<Set> : public detail::refused<Set, product::row_manager> {
    using detail::refused<Set, product::row_manager>::refused;
};

} // namespace allot::inline ALLOT_ABI
