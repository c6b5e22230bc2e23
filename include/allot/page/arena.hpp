// arena<Set>: an arena as an object, for managers that share one, and for programs that want whole pages.
//
//     allot::arena<> pages{allot::limit{1_GiB}, allot::name{"query"}};
//
// Its functions are those of arena_base.hpp. Cost: see there. Threads: any, except for construction and destruction.
#pragma once

#include <allot/core/diagnose.hpp>
#include <allot/core/error.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/page/arena_base.hpp>
#include <allot/page/arena_table.hpp>
#include <allot/page/borrowed.hpp>
#include <allot/page/mapped.hpp>
#include <allot/page/page_source.hpp>
#include <allot/page/range_request.hpp>
#include <allot/sys/clock.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

namespace detail {

// An arena as a tenant of the process, under retain::idle; else nothing.
template <bool Idle> struct resting_arena {
    explicit resting_arena(arena_base&) noexcept {}
};
template <> struct resting_arena<true> final : tenant {
    explicit resting_arena(arena_base& a) noexcept : tenant("arena"), of(a) {}
    std::size_t held() const noexcept override { return of.stats().committed; }
    std::size_t return_idle(std::size_t, bool) noexcept override { return of.trim(); }
    std::size_t return_resting() noexcept override { return of.trim_idle(); }
    arena_base& of;
};

template <class Set> class built_arena : public arena_base {
    using resolution = resolved<Set, product::arena>;
    using page_policy = typename resolution::template answer<category::page>;
    using retain_policy = typename resolution::template answer<category::retain>;
    using source = page_source<page_policy>;
    static constexpr bool lent = requires { page_policy::lent; };
    static_assert(
        !source::on_device || !requires { retain_policy::after; },
        "allot: retain::idle would wait for the device at page requests; name retain::on_call instead");

  public:
    using set = Set;
    using provides = typename page_policy::provides; // for page::of

    template <class... Values> explicit built_arena(Values&&... values) : backing_(values...) {
        using accepted =
            std::conditional_t<lent, types<allot::limit, allot::page_bytes, allot::name, std::span<std::byte>>,
                               decltype(types<allot::limit, allot::page_bytes, allot::name, allot::reserve_bytes>{} +
                                        typename source::values{})>;
        check_values<product::arena, Set, accepted, Values...>();
        if constexpr (lent) check_needed<product::arena, Set, types<std::span<std::byte>>, Values...>();
        else check_needed<product::arena, Set, typename source::needed, Values...>();
        range_request request;
        request.limit = value_or<allot::limit>({SIZE_MAX}, values...).bytes;
        request.page_bytes = value_or<allot::page_bytes>({0}, values...).bytes;
        if constexpr (lent) request.lent = value_or<std::span<std::byte>>({}, values...);
        else request.reserve_bytes = value_or<allot::reserve_bytes>({0}, values...).bytes;
        open(request, request.limit, value_or<allot::name>({"arena"}, values...).text);
    }
    // For an owner with a ledger of its own: `request.limit` sizes range and pages, and is not enforced here.
    template <class... Values>
    built_arena(range_request request, const char* name, Values&... values) : backing_(values...) {
        open(request, SIZE_MAX, name);
    }
    ~built_arena() {
        leave_idle();
        check_tenants();
        if (begin() != nullptr) arenas.leave(*this);
    }

  private:
    void open(const range_request& request, std::size_t limit, const char* name) {
        arena_range range;
        if constexpr (lent) range = page_policy::make(request, &detail::arena_metadata::lent_bytes);
        else range = source::make(request, backing_);
        range.returns_pages = range.returns_pages && retain_policy::when_called;
        range.under_pressure = retain_policy::under_pressure;
        if constexpr (idle_state<retain_policy>::enabled)
            if (range.returns_pages) range.idle = &idle_;
        const bool ok = range.begin != nullptr && start(range, limit, name) && arenas.enter(*this);
        if constexpr (idle_state<retain_policy>::enabled)
            if (ok && range.idle != nullptr) join_idle(among_idle_);
        if (ok) return;
        if (begin() != nullptr) close();
        else if (range.begin != nullptr && range.mapping != 0)
            sys::unmap(range.begin - range.front, range.mapping + range.front);
        raise(out_of_memory(range.begin != nullptr ? "allot: out of memory: an arena has no memory for its tables"
                            : lent                 ? "allot: out of memory: an arena was lent too few bytes"
                                                   : "allot: out of memory: an arena cannot reserve address space",
                            [&](text_writer& out) { report_refused(out, range, name); }));
    }
    static void report_refused(text_writer& out, const arena_range& range, const char* name) noexcept {
        out.put("arena ").put(name).put(": ");
        if (*range.why != 0) out.put(range.why).newline().put("arena ").put(name).put(": ");
        const auto page = std::size_t{1} << range.page_shift;
        out.put(range.begin != nullptr ? "the system refuses memory, or a mapping, for the tables of pages of "
                : lent                 ? "too few bytes were lent for one page of "
                                       : "the system refuses address space, even for one page of ");
        out.bytes(page).newline();
        if (lent) return;
        const arena_totals now = arenas.totals();
        out.put("  other arenas: ").number(now.arenas).put(", which reserve ").bytes(now.reserved).newline();
        out.put("  to mend: smaller reserve_bytes or limits, or more of ulimit -v or vm.max_map_count").newline();
    }
    ALLOT_NO_UNIQUE_ADDRESS idle_state<retain_policy> idle_;
    ALLOT_NO_UNIQUE_ADDRESS resting_arena<idle_state<retain_policy>::enabled> among_idle_{*this};
    ALLOT_NO_UNIQUE_ADDRESS typename source::backing backing_;
};

} // namespace detail

/// Takes, in any order: limit, page_bytes, reserve_bytes, name; under page::borrowed the bytes to use, a
/// std::span<std::byte>, instead of reserve_bytes; under page::on_device the api and a device_id. Without reserve_bytes
/// it reserves twice its limit and 16 MiB, or the size of the machine's memory if that is less; while very many arenas
/// are alive, or address space is short, less.
/// Requires: every client has ended before the destructor runs, otherwise checked builds report misuse; the name
/// outlives the arena.
/// Throws: out_of_memory if not even one page can be reserved (without exceptions: writes the report and aborts).
template <class Set = policies<>> class arena : public detail::built_arena<Set> {
    using detail::built_arena<Set>::built_arena;
};

template <class Set>
    requires(!well_formed<Set, product::arena>)
class arena<Set> : public detail::refused<Set, product::arena> {
    using detail::refused<Set, product::arena>::refused;
};

} // namespace allot::inline ALLOT_ABI
