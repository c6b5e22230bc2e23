// page::borrowed: the pages are cut from bytes that the caller lends, a std::span<std::byte> at construction.
//
// The bytes are aligned inward to the page size, and hold the arena's tables too. They must outlive the arena and are
// never returned to the system. An arena whose bytes are too few for one page cannot be constructed.
// Cost: up to two pages of the bytes. Threads: those of arena.
// Source: std::pmr::monotonic_buffer_resource's initial buffer, 2017.
#pragma once

#include <allot/config.hpp>
#include <allot/core/category/page.hpp>
#include <allot/page/range_request.hpp>

#include <cstring>

namespace allot::inline ALLOT_ABI {
namespace page {

/// The caller's bytes.
struct borrowed {
    using category = allot::category::page;
    using needs = types<>;
    using provides = types<property::host_accessible, property::movable, property::fixed_address>;
    static constexpr bool lent = true; // the constructor takes the caller's bytes
    static constexpr std::string_view about = "bytes that the caller lends";
    static constexpr std::string_view cost = "up to two pages of the bytes, for alignment and tables";

    ALLOT_OUTLINE_WARM static arena_range make(const detail::range_request& request,
                                               std::size_t (*out_of_band_bytes)(std::size_t)) noexcept {
        detail::range_request sized = request;
        if (sized.limit > request.lent.size()) sized.limit = request.lent.size();
        arena_range range;
        range.committed = true;
        range.page_kind = "borrowed";
        const std::size_t page = detail::page_size_for(sized, 0);
        range.page_shift = detail::log2_floor(page);
        const auto start = reinterpret_cast<std::uintptr_t>(request.lent.data());
        const std::size_t all = request.lent.size(), tables = detail::align_up(start, std::size_t{8}) - start;
        // The tables are in front of the pages, so that the count in front of a page's first address can be read.
        for (std::size_t pages = all >> range.page_shift; pages != 0; --pages) {
            const std::size_t first = detail::align_up(start + tables + out_of_band_bytes(pages), page) - start;
            if (first > all || (all - first) >> range.page_shift < pages) continue;
            range.begin = request.lent.data() + first;
            range.bytes = pages << range.page_shift;
            range.out_of_band = request.lent.data() + tables;
            std::memset(range.out_of_band, 0, out_of_band_bytes(pages));
            break;
        }
        return range;
    }
};

static_assert(category::page::takes<borrowed>);

} // namespace page
} // namespace allot::inline ALLOT_ABI
