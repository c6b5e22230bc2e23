// The range that a page policy made for an arena: where it is, what stands behind it, and what the system is told about
// it.
//
// Invariant: `begin` is null where there is none, and `why` says so. Cost: none but at an arena's construction.
// Threads: a value.
#pragma once

#include <allot/config.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

class page_backing;
namespace detail {
class idle_pages;
}

struct arena_range {
    std::byte* begin = nullptr; // aligned to the page size
    std::size_t bytes = 0;      // a multiple of it
    std::size_t mapping = 0;    // bytes to unmap at the end; 0: not the arena's own
    unsigned page_shift = 20;
    bool committed = false;      // all of it is usable from the start
    bool returns_pages = false;  // free pages may go back to the system
    bool under_pressure = false; // and do when it refuses memory
    bool transparent_huge = false;
    bool lock = false;
    const char* page_kind = "plain";    // "plain", "transparent", "hugetlb", "borrowed"
    std::byte* out_of_band = nullptr;   // memory of zeros for the bitmaps; null: the arena maps its own
    detail::idle_pages* idle = nullptr; // looks for pages that nobody used for a while; null: nobody does
    page_backing* backing = nullptr;    // null: the system's memory, or the caller's
    bool headers_out_of_band = false;   // the host does not touch the pages
    const char* why = "";               // there is no range
};

} // namespace allot::inline ALLOT_ABI
