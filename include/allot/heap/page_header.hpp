// Header of every page (or run of pages) of rows; lets any caller release a row by its address. Out of band, the
// arena's page map refers to it (heap/header_location.hpp).
//
// Invariant: `ops` is null and `tag` 0 while the page holds no rows, so an address in such a page is known not to be a
// row.
// Cost: 32 bytes per page. Threads: written before the page's first row is handed out, and when the page is returned.
// Source: the heaplet header of HPCC roxiemem, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/row_type.hpp>
#include <allot/page/page_map.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct row_ops; // how the rows of a page are linked and released: row/row_ops.hpp

struct page_header {
    const row_ops* ops = nullptr;
    void* owner = nullptr;          // the heap, or the row manager of a huge row
    const row_type* type = nullptr; // the type of all rows; null: each row has its own
    std::uintptr_t tag = 0;         // heap_tag of the heap; 0: a huge row
};

// A heap's address and, in its low bits, its index among its manager's buckets (other heaps: no_index). It is
// the word of the heap's pages in the arena's page map, from which a release finds the heap's cache. Heaps are aligned
// to `buckets`.
struct heap_tag {
    static constexpr std::uintptr_t buckets = 256;          // so that an index is a byte: one instruction extracts it
    static_assert(buckets == 2 * detail::out_of_band_mark); // an index is below the mark

    static std::uintptr_t of(const void* heap, std::uint32_t index) noexcept {
        return reinterpret_cast<std::uintptr_t>(heap) | index;
    }
    static std::size_t index(std::uintptr_t tag) noexcept { return tag & (buckets - 1); }
};

// Start of the page that contains `address`. `page_mask`: the negative of the page size.
inline std::byte* page_of(const void* address, std::uintptr_t page_mask) noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) & page_mask);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
