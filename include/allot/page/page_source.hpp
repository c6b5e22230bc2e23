// How an arena gets its range as its policies page and retain say, and what it keeps for them.
//
// page_source serves the page policies of host memory, which keep nothing; device_range.hpp specializes it for
// page::on_device. Cost: none here. Threads: an arena's construction only.
#pragma once

#include <allot/config.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/page/arena_memory.hpp>
#include <allot/page/range_request.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

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

// Lives longer than the arena that has its range.
template <class Page, class Retain> class range_source {
    using source = page_source<Page>;

  public:
    static constexpr bool lent = requires { Page::lent; };
    // The values of a constructor that say which range.
    using accepted = std::conditional_t<lent, types<page_bytes, std::span<std::byte>>,
                                        decltype(types<page_bytes, reserve_bytes>{} + typename source::values{})>;
    using needed = std::conditional_t<lent, types<std::span<std::byte>>, typename source::needed>;

    template <class... Values> explicit range_source(Values&... values) : backing_(values...) {}

    // `usual_page`: see range_request.
    template <class... Values>
    static range_request request_of(std::size_t limit, std::size_t usual_page, Values&... values) noexcept {
        range_request r;
        r.limit = limit;
        r.usual_page = usual_page;
        r.page_bytes = value_or<page_bytes>({0}, values...).bytes;
        if constexpr (lent) r.lent = value_or<std::span<std::byte>>({}, values...);
        else r.reserve_bytes = value_or<reserve_bytes>({0}, values...).bytes;
        return r;
    }
    // Call once.
    arena_range make(const range_request& request) noexcept {
        arena_range range;
        if constexpr (lent) range = Page::make(request, &arena_tables::bytes);
        else range = source::make(request, backing_);
        range.returns_pages = range.returns_pages && Retain::when_called;
        range.under_pressure = Retain::under_pressure;
        return range;
    }

  private:
    ALLOT_NO_UNIQUE_ADDRESS typename source::backing backing_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
