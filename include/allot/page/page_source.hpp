// How an arena gets its range from its page policy, and the state that it keeps for the policy.
//
// This template serves the policies of host memory, which keep nothing; device_range.hpp specializes it for
// page::on_device. Cost: none here. Threads: an arena's construction only.
#pragma once

#include <allot/config.hpp>
#include <allot/core/property.hpp>
#include <allot/page/range_request.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Page> struct page_source {
    static constexpr bool on_device = false;
    using values = types<>; // that the arena's constructor accepts for the policy
    using needed = types<>; // those of them that must be passed
    struct backing {
        template <class... Values> explicit backing(Values&...) noexcept {}
    };
    static arena_range make(const range_request& request, backing&) noexcept { return Page::make(request); }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
