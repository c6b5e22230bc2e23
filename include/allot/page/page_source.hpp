// How an arena gets its range from its page policy, and what it keeps for it.
//
// The policies of the host's memory make a range and keep nothing; page::on_device keeps what maps the device's memory,
// and takes values at construction (page/device_range.hpp). Cost: none for the former.
#pragma once

#include <allot/config.hpp>
#include <allot/core/property.hpp>
#include <allot/page/range_request.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Page> struct page_source {
    static constexpr bool on_device = false;
    using values = types<>; // that the constructor takes for it
    using needed = types<>; // and of these, those that must be given
    struct backing {
        template <class... Values> explicit backing(Values&...) noexcept {}
    };
    static arena_range make(const range_request& request, backing&) noexcept { return Page::make(request); }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
