// The category `count`: what a row carries. Tags; row/ lays out link counts and types.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace count {

struct links;
struct links_anywhere;
struct links_out_of_band;
struct none;

} // namespace count

namespace category {

struct count {
    static constexpr std::string_view name = "count";
    static constexpr std::string_view question = "what does a row carry";
    static constexpr std::string_view contract =
        "bool counted: rows can be linked; bool out_of_band: link count and row type are not beside the row";
    static constexpr std::string_view fallback_rule =
        "links; links_out_of_band where the host cannot access the memory";
    static constexpr std::string_view room = "row";
    template <class Provided>
    using fallback_over = std::conditional_t<Provided::template has<property::host_accessible>, allot::count::links,
                                             allot::count::links_out_of_band>;

    template <class P>
    static constexpr bool takes = detail::answers<P, count> && requires {
        { P::counted } -> detail::constant<bool>;
        { P::out_of_band } -> detail::constant<bool>;
    };
};

} // namespace category

namespace count {

/// Link count, row type and constructed flag in front of each row.
struct links {
    using category = category::count;
    using needs = types<property::host_accessible>;
    using provides = types<property::link_counts>;
    static constexpr bool counted = true;
    static constexpr bool out_of_band = false;
    static constexpr std::string_view about = "link count, row type and a constructed flag, in front of the row";
    static constexpr std::string_view cost = "8 bytes per row; 4 where the heap has one row type";
};

/// As links; rows outside the manager's arena are linked and released as the page says in which they are: rows in
/// packets (packet/packets.hpp), and of other managers.
struct links_anywhere {
    using category = category::count;
    using needs = types<property::host_accessible>;
    using provides = types<property::link_counts>;
    static constexpr bool counted = true;
    static constexpr bool out_of_band = false;
    static constexpr std::string_view about = "as links; rows of other managers, and in packets, are counted, too";
    static constexpr std::string_view cost = "as links; an address outside the manager's arena is looked up";
};

/// As links, but outside the row's page.
struct links_out_of_band {
    using category = category::count;
    using needs = types<>;
    using provides = types<property::link_counts>;
    static constexpr bool counted = true;
    static constexpr bool out_of_band = true;
    static constexpr std::string_view about = "as links, but out of band: the row's memory is not accessed";
    static constexpr std::string_view cost = "8 or 4 bytes per slot, and a second cache line";
};

/// No link count.
struct none {
    using category = category::count;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool counted = false;
    static constexpr bool out_of_band = false;
    static constexpr std::string_view about = "nothing: a row has one owner and no destructor";
    static constexpr std::string_view cost = "0";
};

static_assert(category::count::takes<links>);
static_assert(category::count::takes<links_anywhere>);
static_assert(category::count::takes<links_out_of_band>);
static_assert(category::count::takes<none>);

} // namespace count

} // namespace allot::inline ALLOT_ABI
