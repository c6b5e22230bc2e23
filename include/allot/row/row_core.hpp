// row_core: the state of a row manager, shared by its handles: heaps, huge rows, ledger, arena, row types.
//
//   row_manager, row_heap, local_rows -- row_core -- buckets (a heap per size class)  --.
//                                                 -- fixed heaps opened by heap(...)  --+-- ledger_pages -- arena
//                                                 -- huge rows (runs of pages)        --'   (limit)
//
// Invariant, cost and threads: see row_manager.
// Source: HPCC Roxie's row manager (roxiemem), 2009.
#pragma once

#include <allot/account/forward.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/heap/ledger_pages.hpp>
#include <allot/page/page_steps.hpp>
#include <allot/page/private_arena.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/row/buckets.hpp>
#include <allot/row/huge/huge_rows.hpp>
#include <allot/row/living_handles.hpp>
#include <allot/row/local_rows.hpp>
#include <allot/row/release_at.hpp>
#include <allot/row/row_failure.hpp>
#include <allot/row/row_heap.hpp>
#include <allot/row/row_policies.hpp>
#include <allot/row/row_reports.hpp>
#include <allot/row/row_sampler.hpp>
#include <allot/row/span_rows.hpp>
#include <allot/row/thread_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

// `Set` is answers_of<the user's set>: sets with the same answers share this code. `set`: the name of the user's.
template <class Set> class row_core {
  public:
    using policies = row_policies<Set>;
    using rows = typename policies::rows;
    using ledger_type = typename policies::ledger;
    template <class Changed> using fixed = row_heap<Set, row_policies<Changed, Set>>;

    template <class... Values>
    explicit row_core(const row_owner& owner, Values&&... values)
        : context_{owner, {}}, ledger_(value_or<allot::limit>({SIZE_MAX}, values...).bytes, owner.name, values...),
          arena_(owner.name, value_or<allot::limit>({SIZE_MAX}, values...).bytes, policies::charges ? &payer_ : nullptr,
                 values...),
          pages_(arena(), ledger_),
          spans_(pages_, context_, most_bytes(value_or<allot::limit>({SIZE_MAX}, values...).bytes)),
          buckets_(pages_, context_, most_bytes(value_or<allot::limit>({SIZE_MAX}, values...).bytes), spans_.least()),
          huge_(pages_, context_) {
        open_books();
        if constexpr (policies::per_thread) open_threads();
    }
    row_core(const row_core&) = delete;
    row_core& operator=(const row_core&) = delete;

    row_core& core() noexcept { return *this; }
    row_context& context() noexcept { return context_; }
    auto& buckets() noexcept { return buckets_; }
    const auto& buckets() const noexcept { return buckets_; }
    const auto& spans() const noexcept { return spans_; }
    auto& huge() const noexcept { return huge_; }
    auto& pages() const noexcept { return pages_; }
    const books_of_object& books() const noexcept { return pages_.books(); }
    ledger_type& ledger() noexcept { return ledger_; }
    const ledger_type& ledger() const noexcept { return ledger_; }
    page_arena& arena() const noexcept { return arena_.get(); }
    heap_group& heaps() const noexcept { return pages_.heaps(); }
    const char* name() const noexcept { return context_.name; }
    const char* set_name() const noexcept { return context_.set; }

    // ---- rows ---------------------------------------------------------------------------------------------------

    // After a refusal: what find() returns, step by step. It looks into caches first, since a step may have filled
    // them. flush(): empties the caller's own caches, before all others.
    template <class Find, class Flush> auto climb(memory_request& asked, Find find, Flush flush) {
        decltype(find()) got{};
        climb_until(asked, [&] { return bool(got = find()); }, [&] { return flush(), true; });
        return got;
    }
    // The same for a request that charges another account for the row, too (climb_for of account_steps.hpp).
    template <class Node> // account_node, where accounts are included
    ALLOT_NOINLINE bool climb_with(memory_request& asked, const Node* by, attempt_ref again,
                                   attempt_ref flush) noexcept {
        auto own = steps(asked, flush);
        return climb_for(asked, own, by, ledger_, most_cost, again);
    }
    // The same for a request that fails as the oom policy says; under oom::state_machine it waits first.
    template <class Find, class Flush>
    ALLOT_NOINLINE auto climb_or_fail(memory_request& asked, const char* what, Find find, Flush flush) {
        auto got = climb(asked, find, flush);
        if (!got) fail(asked, what);
        return got;
    }
    // As the oom policy says; returns null.
    std::nullptr_t fail(const memory_request& asked, const char* what) {
        if constexpr (policies::waits) ledger_.account().raise_verdict(asked.why);
        return refuse(asked, what), nullptr;
    }
    // A row from a cache, without a call; null: find() may have one.
    ALLOT_ALWAYS_INLINE void* pop(std::size_t bytes, const row_type& type) noexcept {
        if constexpr (policies::per_thread) {
            thread_bins<Set>* mine = nullptr;
            return ALLOT_LIKELY(threads::is_last(key_, mine)) ? mine->pop(*this, bytes, type) : nullptr;
        } else {
            const std::uint32_t number = recent_type_number(type), index = buckets_.direct_index(bytes, type.align);
            if (ALLOT_UNLIKELY(index == heap_config::no_index || !is_plain(type, number))) return nullptr;
            auto* const heap = buckets_.find(index);
            return ALLOT_LIKELY(heap != nullptr) ? start(heap->pop_cached(), number, bytes, type) : nullptr;
        }
    }
    // One attempt where pop() found none; from the caches too.
    ALLOT_ALWAYS_INLINE void* find(memory_request& asked, std::size_t, const row_type& type) noexcept {
        if constexpr (policies::per_thread)
            if (thread_bins<Set>* const mine = threads_ != nullptr ? threads_->here() : nullptr)
                return mine->try_allocate_slow(asked, type);
        return try_allocate_shared(asked, type, type_number(type));
    }
    // Through the heaps' shared caches, not the calling thread's.
    ALLOT_ALWAYS_INLINE void* try_allocate_shared(memory_request& asked, const row_type& type,
                                                  std::uint32_t number) noexcept {
        const std::uint32_t index = buckets_.index(asked.bytes, type.align);
        if (ALLOT_LIKELY(index != heap_config::no_index && is_plain(type, number)))
            if (auto* const heap = buckets_.at(index, asked)) return start(heap->pop(asked), number, asked.bytes, type);
        return try_allocate_shared_slow(asked, type, number);
    }
    // Neither a type with a check nor misuse. Where rows count links, a type with a wrong alignment has no number.
    ALLOT_ALWAYS_INLINE static bool is_plain([[maybe_unused]] const row_type& type, std::uint32_t number) noexcept {
        if constexpr (policies::counts) return number < type_table::first_checked;
        else return (type.align & (type.align - 1)) == 0;
    }
    // A huge row or one in a span, an alignment above 8 that no class of slots has, a type with a check, or misuse.
    ALLOT_OUTLINE_OF(row_core)
    ALLOT_NOINLINE void* try_allocate_shared_slow(memory_request& asked, const row_type& type,
                                                  std::uint32_t number) noexcept {
        std::size_t bytes = asked.bytes;
        if (ALLOT_UNLIKELY(!type_table::is_alignment(type)))
            return refuse_misuse(asked, misuse::bad_alignment, bytes, type), nullptr;
        if (ALLOT_UNLIKELY(number >= type_table::first_checked)) {
            if (number == type_table::none) return context_.types.refuse_none(asked, type), nullptr;
            bytes = with_check(bytes, type);
        }
        if constexpr (policies::spans)
            if (spans_.serves(bytes, type.align))
                return start<typename policies::in_spans>(spans_.pop(bytes, asked), number, bytes, type);
        const std::uint32_t index = buckets_.class_of(bytes);
        if (ALLOT_LIKELY(index != heap_config::no_index)) {
            if (auto* const heap = buckets_.at(index, asked, type.align))
                return start(heap->pop(asked), number, bytes, type);
            if (asked.why.by == refuser::account) return nullptr; // a huge row costs more than a heap
        }
        if (ALLOT_UNLIKELY(bytes > static_cast<std::size_t>(PTRDIFF_MAX)))
            return refuse_misuse(asked, misuse::size_too_large, bytes, type), nullptr;
        return huge_.allocate(bytes, type.align, number, asked);
    }
    ALLOT_ALWAYS_INLINE std::uint32_t type_number(const row_type& type) noexcept {
        if constexpr (policies::counts) return context_.types.number(type);
        return 0;
    }
    ALLOT_ALWAYS_INLINE std::uint32_t recent_type_number(const row_type& type) const noexcept {
        if constexpr (policies::counts) return context_.types.recent_number(type);
        return 0;
    }
    // `in`: a copy of the arena's view.
    ALLOT_ALWAYS_INLINE void link(const void* row, const detail::arena_bounds& in) noexcept
        requires(policies::counts)
    {
        if (ALLOT_UNLIKELY(!in.contains(row))) return link_foreign(row);
        std::byte* const at = detail::opaque_bytes(row);
        if constexpr (ALLOT_CHECKED != 0)
            if (!detail::is_behind_header(arena(), row)) return;
        if constexpr (policies::counts_in_front)
            if (ALLOT_LIKELY(rows::counting::word(at).link())) return;
        detail::link_in(arena(), at);
    }
    ALLOT_ALWAYS_INLINE void release(const void* row) noexcept {
        if constexpr (policies::per_thread) {
            thread_bins<Set>* mine = nullptr;
            if (ALLOT_LIKELY(threads::is_last(key_, mine))) mine->release(row);
            else release_elsewhere(row);
        } else {
            release_shared(row);
        }
    }
    ALLOT_ALWAYS_INLINE void release(const void* row, [[maybe_unused]] std::size_t bytes) noexcept {
        if constexpr (policies::per_thread) {
            thread_bins<Set>* mine = nullptr;
            if (ALLOT_LIKELY(threads::is_last(key_, mine))) mine->release(*this, row, bytes);
            else release_elsewhere(row);
        } else {
            release_shared(row);
        }
    }
    // Into the shared cache of its heap.
    ALLOT_ALWAYS_INLINE void release_shared(const void* row) noexcept {
        release_at<policies>(arena().view(), row, shared_place{*this});
    }
    // An address outside the arena: what is in another one is its row, or misuse, which checked builds report.
    ALLOT_OUTLINE_OF(row_core) void link_foreign(const void* row) noexcept {
        if constexpr (policies::counts_anywhere) allot::link(row);
        else ignore_foreign(row);
    }
    ALLOT_OUTLINE_OF(row_core) void release_foreign(const void* row) noexcept {
        if constexpr (policies::counts_anywhere) allot::release(row);
        else ignore_foreign(row);
    }
    void ignore_foreign(const void* row) noexcept {
        if constexpr (ALLOT_CHECKED != 0)
            if (const auto* const its = arena_at(row))
                context_.report(misuse::not_shared_arena, "", nullptr, row, its->name());
    }
    // Lets the trace sample a row that a row_heap allocated.
    ALLOT_ALWAYS_INLINE void allocated(std::size_t bytes, const row_type& type) noexcept {
        sampler_.allocated(*this, bytes, type);
    }
    void sampled(std::size_t bytes, const row_type& type) noexcept {
        pages_.record(watch_event::row, bytes, type.name);
    }
    // Fails as the oom policy says: throws, or returns null.
    ALLOT_OUTLINE_OF(row_core) ALLOT_COLD void* refuse(const memory_request& asked, const char* what) {
        if constexpr (policies::oom::raises) raise_no_row(*this, asked, what);
        pages_.record(watch_event::out_of_memory, asked.bytes, what);
        return nullptr;
    }
    ALLOT_OUTLINE_OF(row_core)
    ALLOT_COLD void refuse_misuse(memory_request& asked, misuse kind, std::size_t bytes, const row_type& type,
                                  const char* heap = "") const noexcept {
        context_.report(kind, heap, &type, nullptr);
        asked.refuse(charge_outcome::misused, bytes, text_of(kind).data());
    }
    ALLOT_OUTLINE_OF(row_core)
    [[noreturn]] ALLOT_COLD void raise_misuse(memory_request& asked, misuse kind, const row_type& type) {
        refuse_misuse(asked, kind, asked.bytes, type);
        raise_no_row(*this, asked, type.name);
    }
    // Whether a T may be constructed in such a row.
    template <class T> static bool can_hold(const heap_config& plan, const row_type& type) noexcept {
        return plan.row_bytes - type.check_bytes() >= sizeof(T) && plan.align >= alignof(T) && can_end<T>(type);
    }
    // A T for which can_hold() is false: reports misuse, and fails as the oom policy says.
    template <class T> ALLOT_COLD void* refuse_to_hold(const heap_config& plan, const row_type& type) {
        memory_request asked{sizeof(T)};
        refuse_misuse(asked, can_end<T>(type) ? misuse::size_too_large : misuse::null_type, sizeof(T), type, plan.name);
        return refuse(asked, type.name);
    }

    // ---- heaps of one size --------------------------------------------------------------------------------------

    // A handle of it shares the manager's own heap for rows of the size class, which lives as long as the manager.
    template <class Changed>
    static constexpr bool is_bucket =
        !Changed::one_type && !Changed::limited && Changed::bucketed && std::is_same_v<typename Changed::rows, rows>;

    // Finds or creates the heap for rows of this size and type, with the policies of `Changed`.
    template <class Changed> fixed<Changed> heap_for(std::size_t bytes, const row_type& type) {
        using changed = row_policies<Changed, Set>;
        using changed_rows = typename changed::rows;
        using heap_type = typename changed_rows::heap;
        constexpr bool one_type = changed::one_type;

        memory_request asked{bytes};
        const std::uint32_t number = type_number(type);
        if (!type_table::is_alignment(type)) raise_misuse(asked, misuse::bad_alignment, type);
        if (number == type_table::none) context_.types.refuse_none(asked, type), raise_no_row(*this, asked, type.name);
        if (bytes > static_cast<std::size_t>(PTRDIFF_MAX)) raise_misuse(asked, misuse::size_too_large, type);
        bytes = with_check(bytes, type);
        const std::size_t least = changed::packed || type.align != 0 ? 4 : 8; // a link count lies in front
        const std::size_t align = type.align > least ? type.align : least;
        heap_type* found = nullptr;
        if constexpr (is_bucket<changed>) {
            const std::uint32_t index = buckets_.class_of(bytes);
            if (index == heap_config::no_index) refuse_no_fit(asked, bytes);
            else found = open_heap(asked, [&] { return buckets_.at(index, asked, align); });
            if (found != nullptr) found->handles.fetch_add(1, std::memory_order_relaxed);
        } else {
            constexpr bool by_type = one_type || !changed::limited;
            heap_config plan = changed_rows::plan(context_, by_type ? type.name : "shared", one_type ? &type : nullptr,
                                                  round_to_class<changed>(bytes), align);
            plan.type_id = by_type ? number : 0;
            plan.exclusive = changed::unique;
            if constexpr (changed::limited) plan.users = static_cast<std::uint32_t>(changed::use::users);
            if (heap_type::rows_per_page(plan, pages_.page_bytes()) == 0) refuse_no_fit(asked, bytes);
            else found = open_heap(asked, [&] { return heaps().template open<heap_type>(pages_, plan, asked); });
        }
        if (found == nullptr) raise_no_row(*this, asked, type.name);
        pages_.record(watch_event::handle_opened, found->cut().stride, found->config().name);
        return fixed<Changed>(*this, *found, type, number);
    }
    template <class Changed> std::size_t round_to_class(std::size_t bytes) const noexcept {
        if constexpr (Changed::bucketed && !Changed::unique)
            if (const std::uint32_t index = buckets_.class_of(bytes); index != heap_config::no_index)
                return buckets_.row_bytes(index);
        return bytes;
    }
    template <class Open> auto open_heap(memory_request& asked, Open open) -> decltype(open()) {
        const auto paid = [&] { return pages_.books().pay(asked) ? open() : nullptr; };
        auto* const found = paid();
        return found != nullptr ? found : climb(asked, paid, [] {});
    }
    // A handle is destroyed.
    template <class Changed, class Heap> void close_handle(Heap& heap) noexcept {
        pages_.record(watch_event::handle_closed, heap.cut().stride, heap.config().name);
        if constexpr (is_bucket<Changed>) heap.handles.fetch_sub(1, std::memory_order_relaxed);
        else heaps().close(heap);
        pages_.settled(); // no release: it may ask for reservations that wait for the heap's pages
    }

    // Checked builds: call at the manager's end. Reports a handle that is still there, by its heap.
    ALLOT_OUTLINE_OF(row_core) void check_handles() noexcept {
        if constexpr (ALLOT_CHECKED == 0) return;
        heaps().for_each([&](heap_base& heap) {
            if (!heap.has_users()) return;
            const heap_usage u = heap.usage();
            context_.report(misuse::living_handle, u.name, u.type, nullptr);
        });
        if (handles_.any()) context_.report(misuse::living_handle, "", nullptr, nullptr);
    }
    living_handles& handles() noexcept { return handles_; }

    // The manager's: reports rows that live to `leaks`, and frees all. No other thread uses it.
    ALLOT_OUTLINE_OF(row_core) void end(const leak_sink& leaks) noexcept {
        close_threads();
        buckets_.spare_bins().close_all();
        check_handles();
        report_leaks(
            heaps(),
            [this](leak_counts& by_type) noexcept {
                huge_.for_each([&](std::byte*, const row_type* type, std::size_t) { by_type.add(type); });
            },
            name(), set_name(), leaks);
        huge_.drop();
        heaps().delete_all();
    }

    // ---- threads ------------------------------------------------------------------------------------------------

    // Frees a slot through the calling thread's bins, if it has any.
    ALLOT_OUTLINE_OF(row_core)
    void give_to_thread(std::uintptr_t tag, typename rows::heap& heap, std::byte* row) noexcept {
        if (thread_bins<Set>* const mine = known_thread()) mine->give(tag, heap, row);
        else heap.push(row);
    }
    ALLOT_OUTLINE_OF(row_core) void close_threads() noexcept {
        if constexpr (policies::per_thread)
            if (threads_ != nullptr) threads::close(threads_);
    }

    // ---- statistics, in bytes -----------------------------------------------------------------------------------

    // Charged bytes; under ledger::none the pages of its heaps and huge rows.
    ALLOT_OUTLINE_OF(row_core) std::size_t held_bytes() const noexcept {
        if constexpr (policies::charges) return ledger_.used();
        std::size_t pages = huge_.pages();
        heaps().for_each([&](heap_base& heap) { pages += heap.usage().pages; });
        return pages << arena().page_shift();
    }
    // As row_manager has them.
    ALLOT_OUTLINE_OF(row_core) std::size_t live_rows() const noexcept {
        std::size_t n = huge_.rows();
        heaps().for_each([&](heap_base& heap) { n += heap.usage().live_rows; });
        return n;
    }
    template <class Visit> void usage(Visit&& visit) const {
        heaps().for_each([&](heap_base& heap) {
            if (const heap_usage u = heap.usage(); u.pages != 0) visit(u);
        });
        if (huge_.rows() != 0) visit(huge_.usage());
    }
    ALLOT_OUTLINE_OF(row_core) void report(text_writer& out) const noexcept {
        write_held(out, name(), set_name(), held_bytes(), peak_bytes(), limit_bytes(), arena().page_bytes());
        top_heaps top;
        usage([&](const heap_usage& u) { top.add(u); });
        top.write(out);
        arena().report(out);
        if constexpr (policies::in_tree) ledger_.report(out);
    }

    std::size_t peak_bytes() const noexcept {
        if constexpr (policies::charges) return ledger_.peak();
        else return arena().stats().peak_taken;
    }
    std::size_t limit_bytes() const noexcept {
        if constexpr (policies::charges) return ledger_.limit();
        else return arena().limit();
    }

  private:
    using threads = thread_rows<Set>;
    static constexpr std::uint32_t most_cost = policies::asks ? UINT32_MAX : 0; // of those it asks
    ALLOT_OUTLINE_OF(row_core)
    ALLOT_NOINLINE void climb_until(memory_request& asked, attempt_ref has_got, attempt_ref flush) {
        auto own = steps(asked, flush);
        auto level = ledger_.steps(most_cost);
        static_cast<void>(detail::climb(asked, own, level, has_got));
    }
    auto steps(memory_request& asked, attempt_ref flush) noexcept {
        if constexpr (requires { ledger_type::charges_others; }) asked.charges_others = true;
        asked.waiting = &heaps().waiting();
        return page_steps{arena(), pages_.in_transit(), [this, flush](unsigned way) noexcept {
                              if (way == 0) static_cast<void>(flush());
                              return pages_.return_idle(way);
                          }};
    }
    // The shared cache of a row's heap, of any heap of the manager's own rows.
    struct shared_place {
        static bool one_type(page_header& page) noexcept { return page.type != nullptr; }
        row_core& core() const noexcept { return all; }
        ALLOT_ALWAYS_INLINE bool enter(typename rows::page& page, std::byte* row,
                                       [[maybe_unused]] std::size_t in_arena) const noexcept {
            if constexpr (policies::spans)
                if (is_out_of_band(all.arena().view().tag_at(in_arena))) return false; // no page is at `page`
            return page.ops == &rows::ops && (policies::counts || rows::is_start(page, row));
        }
        ALLOT_ALWAYS_INLINE void push(typename rows::page& page, std::byte* row) const noexcept {
            rows::heap_of(page).push(row);
        }
        void release_entered(typename rows::page& page, std::byte* row) const noexcept {
            !policies::spans&& page.ops == &rows::ops ? rows::release(page, row) : release_in(all.arena(), row);
        }
        void release_slow(std::byte* row) const noexcept { release_in(all.arena(), row); }

        row_core& all;
    };
    // Under a limit, or that of the arena, or its address space.
    std::size_t most_bytes(std::size_t limit) const noexcept {
        return min(limit, min(arena().limit(), arena().page_count() << arena().page_shift()));
    }
    ALLOT_OUTLINE_OF(row_core)
    void open_books() {
        if constexpr (policies::in_tree) {
            if (!books()) return;
            const std::size_t bytes = sizeof(row_core) + (policies::shares_arena ? 0 : arena_tables::used_bytes());
            memory_request asked{bytes};
            if (!ledger_.open_books(bytes, asked)) ledger_.raise_no_books(asked, set_name(), name());
        }
    }
    ALLOT_OUTLINE_OF(row_core) void open_threads() noexcept {
        threads_ = new (std::nothrow) threads(*this);
        if (threads_ == nullptr) return;
        key_ = threads_;
        static constexpr heap_group::thread_caches how{
            [](void* all) noexcept { static_cast<threads*>(all)->empty_all(); },
            [](void* all, bool now) noexcept { return static_cast<threads*>(all)->set_shut(now); }};
        heaps().set_thread_caches(how, threads_);
    }
    thread_bins<Set>* known_thread() noexcept { return threads_ != nullptr ? threads_->known() : nullptr; }
    // For a thread that did not use this manager last. One that only releases has no caches.
    ALLOT_OUTLINE_OF(row_core) ALLOT_NOINLINE void release_elsewhere(const void* row) noexcept {
        if (ALLOT_LIKELY(!threads::any_known())) release_shared(row);
        else release_known(row);
    }
    ALLOT_OUTLINE_OF(row_core) ALLOT_NOINLINE void release_known(const void* row) noexcept {
        if (!arena().contains(row)) return release_foreign(row);
        if (thread_bins<Set>* const mine = known_thread()) mine->release(row);
        else release_shared(row);
    }
    template <class Rows = rows>
    ALLOT_ALWAYS_INLINE void* start(std::byte* slot, std::uint32_t number, std::size_t bytes,
                                    const row_type& type) noexcept {
        if (slot == nullptr) return nullptr;
        Rows::template start<true>(false, arena().view(), slot, number);
        sampler_.allocated(*this, bytes, type);
        return slot;
    }
    template <class T> static bool can_end(const row_type& type) noexcept {
        return std::is_trivially_destructible_v<T> || type.destroy != nullptr;
    }
    // Adds the 4 bytes of the type's checksum, if any; not to a size above PTRDIFF_MAX, which is refused later.
    static std::size_t with_check(std::size_t bytes, const row_type& type) noexcept {
        if (!policies::counts || bytes > static_cast<std::size_t>(PTRDIFF_MAX)) return bytes;
        return bytes + type.check_bytes();
    }

    row_context context_;
    ALLOT_NO_UNIQUE_ADDRESS ledger_type ledger_;
    ledger_payer<ledger_type> payer_{ledger_};
    typename policies::arena arena_; // its memory is unmapped before it is refunded
    mutable ledger_pages<ledger_type> pages_;
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<policies::spans, span_rows<typename policies::in_spans>, no_span_rows>
        spans_;
    detail::buckets<rows, typename policies::list> buckets_;
    mutable huge_rows<policies::counts, typename policies::guard, typename policies::place> huge_;
    threads* threads_ = nullptr;                     // heap::per_thread; null if it could not be allocated
    const void* key_ = this;                         // threads_; the address of no registry if that is null
    ALLOT_NO_UNIQUE_ADDRESS living_handles handles_; // local_rows
    ALLOT_NO_UNIQUE_ADDRESS shared_row_sampler<policies::watch::every_nth_row> sampler_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
