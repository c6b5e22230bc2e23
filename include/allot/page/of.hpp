// page::of<Arena>: pages of an arena that several managers share, given by reference at construction.
//
// The arena must outlive them; its own page size, limit and retain rule apply, and who may touch its pages is as its
// set says. Cost: none.
#pragma once

#include <allot/core/category/page.hpp>

#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace page {

template <class Arena> struct of {
    using category = allot::category::page;
    using needs = types<>;
    using provides = std::conditional_t<allot::detail::provides<Arena, property::device_accessible>,
                                        types<property::device_accessible>,
                                        types<property::host_accessible, property::fixed_address>>;
    using arena_type = Arena;
    static constexpr std::string_view about = "an arena that several managers share";
    static constexpr std::string_view cost = "0";
};

} // namespace page
} // namespace allot::inline ALLOT_ABI
