// arena<Set>: an arena as an object, for managers that share one, and for programs that want whole pages.
//
//     allot::arena<> pages{allot::limit{1_GiB}, allot::name{"query"}};
//
// Its functions are those of page_arena.hpp. Cost: see there. Threads: any, except for construction and destruction.
#pragma once

#include <allot/core/diagnose.hpp>
#include <allot/core/error.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/page/arena_table.hpp>
#include <allot/page/borrowed.hpp>
#include <allot/page/mapped.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/page/page_source.hpp>
#include <allot/page/range_request.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

namespace detail {

template <class Page, class Retain, std::size_t UsualPage> class arena_choice; // page/private_arena.hpp

template <class Set>
using range_source_of = range_source<typename resolved<Set, product::arena>::template answer<category::page>,
                                     typename resolved<Set, product::arena>::template answer<category::retain>>;

template <class Source>
using arena_values = decltype(types<limit, name>{} + typename Source::accepted{}); // that its constructor takes

// An arena whose range, as the system gave it, cannot be used. `lent`: the caller's bytes.
[[noreturn]] ALLOT_OUTLINE_COLD void refuse_arena(const arena_range& range, const char* name, bool lent) {
    const std::size_t page = std::size_t{1} << range.page_shift;
    char line[out_of_memory::line_bytes];
    text_writer text{line};
    text.put("allot: out of memory: ").put(*name != 0 ? "arena " : "an arena").brief(name);
    text.put(range.begin != nullptr ? " has no memory for its tables"
             : lent                 ? " was lent too few bytes"
                                    : " cannot reserve address space");
    if (!lent) text.put(": raise ulimit -v or vm.max_map_count");
    const auto report = [&](text_writer& out) {
        out.put("arena ").brief(name).put(": ");
        if (*range.why != 0) out.put(range.why).newline().put("arena ").brief(name).put(": ");
        out.put(range.begin != nullptr ? "the system refuses memory, or a mapping, for the tables of pages of "
                : lent                 ? "too few bytes were lent for one page of "
                                       : "the system refuses address space, even for one page of ");
        out.bytes(page).newline();
        if (lent) return;
        const arena_totals now = arenas.totals();
        out.put("  other arenas: ").number(now.arenas).put(", which reserve ").bytes(now.reserved).newline();
        out.put("  to mend: smaller reserve_bytes or limits, or more of ulimit -v or vm.max_map_count").newline();
    };
    raise(out_of_memory(text.view(), report,
                        {.outcome = charge_outcome::no_memory, .by = refuser::arena, .requested = page, .name = name}));
}

} // namespace detail

/// Takes, in any order: limit, page_bytes, reserve_bytes, name; under page::borrowed the bytes to use, a
/// std::span<std::byte>, instead of reserve_bytes; under page::on_device the api and a device_id. Without reserve_bytes
/// it reserves twice its limit and 16 MiB, or the size of the machine's memory if that is less; while very many arenas
/// are alive, or address space is short, less.
/// Requires: every client has ended before the destructor runs, otherwise checked builds report misuse; the name
/// outlives the arena.
/// Throws: out_of_memory if not even one page can be reserved (without exceptions: writes the report and aborts).
template <class Set = policies<>> class arena : detail::range_source_of<Set>, public page_arena {
    using source = detail::range_source_of<Set>;

  public:
    using set = Set;
    using provides = // for page::of
        typename detail::resolved<Set, product::arena>::template answer<category::page>::provides;

    template <class... Values>
    explicit arena(Values&&... values)
        : arena(opening{checked_request(values...), value_or<allot::limit>({SIZE_MAX}, values...).bytes,
                        value_or<allot::name>(allot::name{"arena"}, values...).text},
                values...) {}
    ~arena() { detail::arenas.leave(*this); }

  private:
    template <class Page, class Retain, std::size_t UsualPage> friend class detail::arena_choice;

    struct opening {
        detail::range_request request;
        std::size_t limit; // SIZE_MAX: the owner's ledger has one, which sizes range and pages
        const char* name;
        arena_range range{}; // once it is made
    };
    template <class... Values>
    arena(opening o, Values&... values)
        : source(values...), page_arena(o.range = source::make(o.request), o.limit, o.name) {
        if (begin() == nullptr || !detail::arenas.enter(*this)) detail::refuse_arena(o.range, o.name, source::lent);
    }
    template <class... Values> static detail::range_request checked_request(Values&&... values) noexcept {
        detail::check_values<product::arena, Set, detail::arena_values<source>, Values...>();
        detail::check_needed<product::arena, Set, typename source::needed, Values...>();
        return source::request_of(value_or<allot::limit>({SIZE_MAX}, values...).bytes, 0, values...);
    }
};

template <class Set>
    requires(!well_formed<Set, product::arena>)
class arena<Set> : public detail::refused<Set, product::arena> {
    using detail::refused<Set, product::arena>::refused;
};

} // namespace allot::inline ALLOT_ABI
