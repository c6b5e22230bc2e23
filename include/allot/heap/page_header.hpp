// What stands first in every page (or run of pages) that holds rows: enough for a stranger to treat the row. Where the
// host must not touch the page it stands in host memory, and the arena's word of the page leads to it.
//
// Invariant: `ops` is null while the page holds no rows, so that an address in it is known to be no row.
// Cost: 32 bytes a page. Threads: written before the page's first row is handed out, and when it is given back.
// Source: the heaplet header of HPCC roxiemem, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/row_type.hpp>
#include <allot/page/page_map.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

struct row_ops; // how the rows of a page are linked and released: the row room's part

struct page_header {
    const row_ops* ops = nullptr;
    void* owner = nullptr;                    // the heap, or the row manager of a huge row
    const row_type* type = nullptr;           // the one type of all rows; null: each row carries its own
    std::uint32_t bucket = ~std::uint32_t{0}; // of the heap among its manager's buckets
};

// The page that an address lies in; `page_mask` is the negative of the page size.
inline std::byte* page_of(const void* address, std::uintptr_t page_mask) noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) & page_mask);
}
// Of an arena whose headers stand aside: the header of an address's page, null while the page holds no rows.
inline page_header* out_of_band_header_at(const detail::arena_view& arena, const void* address) noexcept {
    return static_cast<page_header*>(const_cast<void*>(arena.owner_at(arena.offset(address))));
}

} // namespace allot::inline ALLOT_ABI
