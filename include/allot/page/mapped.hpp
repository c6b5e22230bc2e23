// page::mapped: the pages are address space of the arena's own, committed when they are first taken.
//
// Transparent huge pages are asked for beyond the first 16 MiB, where they do not inflate a small arena, unless the
// limit is less than 64 MiB. A private arena is charged for them whole.
// Cost: none for a used page; 2 us for each 4 KiB first touched, 0.1 us where the system has huge pages ready, 6 us where
// a hypervisor has taken the free ones (free page reporting): then `transparent_huge = false` is cheaper.
// Threads: those of arena. Source: HPCC roxiemem reserves its heap in this way, 2009.
#pragma once

#include <allot/core/category/page.hpp>
#include <allot/page/range_request.hpp>

namespace allot::inline ALLOT_ABI {
namespace page {

/// Options: core/category/page.hpp. The range is the arena's reserve_bytes, else Options.reserve, else what
/// detail::default_reserve() says.
template <mapped_options Options> struct mapped {
    using category = allot::category::page;
    using needs = types<>;
    using provides = types<property::host_accessible, property::movable, property::fixed_address>;
    static constexpr bool options_valid = page::valid(Options);
    static constexpr std::string_view about =
        "reserved address space, committed on demand; transparent huge pages beyond the first 16 MiB";
    static constexpr std::string_view cost = "a page fault for each OS page first touched";

    static arena_range make(const detail::range_request& request) noexcept {
        const std::size_t page = detail::page_size_for(request, Options.page);
        const std::size_t bytes = request.reserve_bytes != 0 ? request.reserve_bytes
                                  : Options.reserve != 0
                                      ? Options.reserve
                                      : detail::default_reserve(request.limit, detail::sys::physical_memory());
        arena_range range = detail::reserve_range(page, bytes);
        range.returns_pages = true;
        range.transparent_huge = Options.transparent_huge && request.is_for_huge_pages();
        range.lock = Options.lock;
        if (range.begin != nullptr && Options.dont_dump) detail::sys::dont_dump(range.begin, range.mapping);
        return range;
    }
};

static_assert(category::page::takes<mapped<>>);

} // namespace page
} // namespace allot::inline ALLOT_ABI
