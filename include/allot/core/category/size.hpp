// The category `size`: how a request is rounded. Tags over the lists of core/size_list.hpp.
#pragma once

#include <allot/core/policy.hpp>
#include <allot/core/size_list.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

namespace size {

template <class List = list::fine> struct bucketed;
struct packed;
struct exact;
struct in_spans;

} // namespace size

namespace category {

struct size {
    static constexpr std::string_view name = "size";
    static constexpr std::string_view question = "how is a request rounded";
    static constexpr std::string_view contract =
        "std::size_t step, 4 or 8: a heap of one size rounds up to a multiple of it; bool rounds: to a size of the "
        "list instead; type list: the size classes for requests of any size";
    static constexpr std::string_view fallback_rule = "bucketed<list::fine>";
    static constexpr std::string_view room = "row";
    using fallback = allot::size::bucketed<>;

    template <class P>
    static constexpr bool takes = detail::answers<P, size> && requires {
        { P::step } -> detail::constant<std::size_t>;
        { P::rounds } -> detail::constant<bool>;
        typename P::list;
        requires P::step == 4 || P::step == 8;
    };
};

} // namespace category

namespace size {

/// Sizes of a list: few heaps, shared by all rows of a class.
template <class List> struct bucketed {
    using category = category::size;
    using needs = types<>;
    using provides = types<>;
    using list = List;
    static constexpr std::size_t step = 8;
    static constexpr bool rounds = true;
    static constexpr bool options_valid = allot::size::is_list<List>;
    template <class Set> static constexpr auto refuse_options() { return allot::size::refuse_list<Set, List>(); }
    static constexpr std::string_view about = "up to the next size of a list: fine, roxie, thor or your own";
    static constexpr std::string_view cost =
        "unused: up to half of a slot (roxie); at most 1/8 of the request, from 64 "
        "bytes to a 15th of the page (fine; up to half under a limit of 1 MiB or less)";
};

/// Multiples of 4 bytes in a heap of one size; its rows are aligned to 4.
struct packed {
    using category = category::size;
    using needs = types<>;
    using provides = types<>;
    using list = allot::size::list::fine;
    static constexpr std::size_t step = 4;
    static constexpr bool rounds = false;
    static constexpr std::string_view about =
        "to a multiple of 4 bytes in a heap of one size, with rows aligned to 4; other requests by the list fine";
    static constexpr std::string_view cost = "at most 3 bytes per row; one heap per size";
};

/// Multiples of 8 bytes in a heap of one size.
struct exact {
    using category = category::size;
    using needs = types<>;
    using provides = types<>;
    using list = allot::size::list::fine;
    static constexpr std::size_t step = 8;
    static constexpr bool rounds = false;
    static constexpr std::string_view about =
        "to a multiple of 8 bytes in a heap of one size; other requests by the list fine";
    static constexpr std::string_view cost = "at most 7 bytes per row; one heap per size";
};

/// As exact; and requests of a tenth of a page up to a whole one are cut from spans of 1 to 9 pages.
struct in_spans {
    using category = category::size;
    using needs = types<property::host_accessible>;
    using provides = types<>;
    using list = allot::size::list::even;
    static constexpr std::size_t step = 8;
    static constexpr bool rounds = false;
    static constexpr bool spans = true;
    static constexpr std::string_view about =
        "to a multiple of 8 bytes in a heap of one size; other requests by the list even, and those of a tenth to all "
        "of a page in spans of 1 to 9 pages. No spans in a shared arena, under a limit below 512 pages, or for rows "
        "aligned to 32 or more";
    static constexpr std::string_view cost =
        "at most 7 bytes per row; one heap per size; at most 1/8 of other requests, from 64 bytes to a page. A size "
        "class above a tenth of a page takes a span, and its rows go through shared caches";
};

static_assert(category::size::takes<bucketed<>>);
static_assert(category::size::takes<packed>);
static_assert(category::size::takes<exact>);
static_assert(category::size::takes<in_spans>);

} // namespace size

} // namespace allot::inline ALLOT_ABI
