// page::of<Arena>: the pages of an arena that several managers share, passed by reference at construction.
//
// The arena must outlive the managers. Its own page size, limit and retain rule apply.
// Cost: none. Threads: those of arena.
#pragma once

#include <allot/core/category/page.hpp>

#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace page {

/// Provides host or device access as the arena's set does.
template <class Arena> struct of {
    using category = allot::category::page;
    using needs = types<>;
    using provides = std::conditional_t<allot::detail::provides<Arena, property::device_accessible>,
                                        types<property::device_accessible, property::movable>,
                                        types<property::host_accessible, property::movable, property::fixed_address>>;
    using arena_type = Arena;
    static constexpr std::string_view about = "an arena that several managers share";
    static constexpr std::string_view cost = "0";
};

} // namespace page
} // namespace allot::inline ALLOT_ABI
