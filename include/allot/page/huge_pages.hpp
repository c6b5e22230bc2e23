// page::huge_pages: OS pages that the administrator preallocated (hugetlb), where there are enough of them.
//
// Otherwise, and where the limit is less than one of them, transparent huge pages from the first byte on, where the
// system has them, unless the limit is less than 64 MiB; otherwise plain pages. The arena's page_kind() says which.
// Preallocated pages are reserved all at once. One is in memory, and charged, from the first use of a part of it until
// the arena ends.
// Cost: none on the path. Threads: those of arena. Source: HPCC roxiemem's huge page mode, 2012.
#pragma once

#include <allot/core/category/page.hpp>
#include <allot/page/range_request.hpp>

namespace allot::inline ALLOT_ABI {
namespace page {

/// Options: core/category/page.hpp. The range is the arena's reserve_bytes, else Options.reserve, else the limit or the
/// size of the machine's memory, all of it preallocated; where there are too few of those pages, it is that of mapped.
template <huge_options Options> struct huge_pages {
    using category = allot::category::page;
    using needs = types<>;
    using provides =
        types<property::host_accessible, property::movable, property::fixed_address, property::preallocated>;
    static constexpr bool options_valid = page::valid(Options);
    static constexpr std::string_view about =
        "preallocated huge OS pages; else transparent ones; else plain ones; page_kind() reports which";
    static constexpr std::string_view cost =
        "all memory is reserved at once, and charged by whole huge pages; fewer TLB misses";

    static arena_range make(const detail::range_request& request) noexcept {
        const std::size_t page = detail::page_size_for(request, Options.page);
        const std::size_t memory = detail::sys::physical_memory();
        const std::size_t bytes = request.reserve_bytes != 0 ? request.reserve_bytes : Options.reserve;
        const std::size_t unit = std::max(page, Options.huge_page);
        const std::size_t all =
            bytes != 0 ? std::min(bytes, detail::max_reserve_bytes) : std::min(request.limit, memory);
        const std::size_t whole = detail::align_up(std::max(all, unit), unit);
        arena_range range = detail::reserve_range(page, whole, Options.huge_page);
        if (range.begin == nullptr) return range;
        range.lock = Options.lock;
        const bool fits = range.bytes == whole && request.limit >= Options.huge_page;
        if (fits && detail::sys::replace_by_huge(range.begin, range.bytes, Options.huge_page)) {
            range.committed = true;
            range.preallocated = Options.huge_page;
            range.page_kind = "hugetlb";
        } else {
            const std::size_t gone = fits ? whole : 0;
            if (range.front != 0) detail::sys::unmap(range.begin - range.front, range.front);
            if (gone < range.mapping) detail::sys::unmap(range.begin + gone, range.mapping - gone);
            range = detail::reserve_range(page, bytes != 0 ? bytes : detail::default_reserve(request.limit, memory));
            if (range.begin == nullptr) return range;
            range.returns_pages = true;
            range.lock = Options.lock;
            range.transparent_huge = request.is_for_huge_pages() && detail::sys::has_transparent_huge();
            if (range.transparent_huge) {
                range.page_kind = "transparent";
                detail::sys::advise_huge(range.begin, range.mapping); // one mapping, not two
                range.advised = true;
            }
        }
        if (Options.dont_dump) detail::sys::dont_dump(range.begin, range.mapping);
        return range;
    }
};

static_assert(category::page::takes<huge_pages<>>);

} // namespace page
} // namespace allot::inline ALLOT_ABI
