// The header of a page of rows: in the page, or out of band in host memory; and how to find it by a row's address.
//
//   header_in_page      page:  | header | bits | counts | rows ...    found by masking the address
//   header_out_of_band  page:  | rows ...                             found by the arena's page map
//                       host:  | header | bits | counts |             it stores its page's address
//   header_of_span      as header_out_of_band, of several pages in a row
//
// header_out_of_band is for pages that the host must not touch: a heap then writes to host memory only. header_of_span
// is for rows of which few fit a page (row/span_rows.hpp), in an arena whose other pages have their header in them:
// these are beside_spans.
// Invariant: the page map entry of a page with an out-of-band header is that header's address, marked, from before the
// page's first row is handed out until the page is returned to the arena. So a tag that is read from the page map, and
// is that of a heap, is of a page with its header in it.
// Cost: out of band one load per lookup and 8 bytes per page; headers are allocated and freed with no lock held.
// Threads: any; look up a header only while you hold a row of its page. Source: tcmalloc's pagemap, 2005.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/page_header.hpp>
#include <allot/page/page_map.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct header_in_page {
    static constexpr bool out_of_band = false, on_device = false, beside_spans = false;
};
struct header_in_page_beside_spans {
    static constexpr bool out_of_band = false, on_device = false, beside_spans = true;
};
struct header_out_of_band {
    static constexpr bool out_of_band = true, on_device = true, beside_spans = false;
    std::byte* memory = nullptr; // start of the page
    std::uint32_t pages = 1;     // of the arena
    std::uint32_t bytes = 0;     // of the header
};
struct header_of_span {
    static constexpr bool out_of_band = true, on_device = false, beside_spans = false;
    std::byte* memory = nullptr; // start of the span
    std::uint32_t pages = 1;     // as above
    std::uint32_t bytes = 0;
};

// Alignment of every kind of header.
inline constexpr std::size_t header_alignment = 64;

// The result of page_at() for a page without rows: its owner is no heap, and its `ops` are null. Aligned as every
// header, since it is read as any kind of them.
struct alignas(header_alignment) unowned_header : page_header {};
inline unowned_header unowned_page{{.owner = &unowned_page}};

// The header of the page that contains `address`. Requires: the address is inside the arena.
template <class Page>
ALLOT_ALWAYS_INLINE Page& page_at(const detail::arena_bounds& arena, const void* address) noexcept {
    if constexpr (!Page::location_type::out_of_band) {
        return *reinterpret_cast<Page*>(page_of(address, arena.page_mask));
    } else {
        static_assert(alignof(Page) <= alignof(detail::unowned_header));
        const void* const word = arena.owner_at(arena.offset(address));
        page_header* found = &detail::unowned_page;
        if (ALLOT_LIKELY(detail::is_out_of_band(word)))
            found = static_cast<page_header*>(const_cast<void*>(detail::header_of_word(word)));
        return *static_cast<Page*>(found);
    }
}

// Host memory for an out-of-band header, its bits and its counts; null when out of memory. Aligned so that its
// address does not have the mark.
inline std::byte* allocate_header(std::size_t bytes) noexcept {
    return static_cast<std::byte*>(::operator new(bytes, std::align_val_t{2 * detail::out_of_band_mark}, std::nothrow));
}
inline void free_header(void* header) noexcept {
    ::operator delete(header, std::align_val_t{2 * detail::out_of_band_mark});
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
