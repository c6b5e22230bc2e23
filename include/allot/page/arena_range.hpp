// The address range that a page policy makes for an arena, with what the arena must know about it.
//
// Invariant: `begin` is null where no range could be made; `why` may then name the reason.
// Cost: none after an arena's construction. Threads: a value.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class page_backing;

} // namespace detail

/// The result of a page policy's make().
struct arena_range {
    std::byte* begin = nullptr; // aligned to the page size
    std::size_t bytes = 0;      // a multiple of the page size
    std::size_t mapping = 0;    // bytes that the arena unmaps at its end; 0: not its own mapping
    std::size_t front = 0;      // bytes in front of `begin` of the same mapping, for the arena's tables
    unsigned page_shift = 20;
    std::uint8_t halved = 0;      // how often `bytes` was halved, since the system refused more
    bool committed = false;       // usable from the start
    std::size_t preallocated = 0; // bytes of each OS page, if the administrator preallocated them; else 0
    bool returns_pages = false;   // free pages may be returned to the system
    bool under_pressure = false;  // free pages are returned before a request fails for lack of memory
    bool transparent_huge = false;
    bool advised = false;                    // transparent huge pages are asked for already, for all of it
    bool lock = false;                       // against swapping
    const char* page_kind = "plain";         // see page_arena::page_kind()
    std::byte* out_of_band = nullptr;        // zeros for the arena's tables; null: the arena maps its own
    detail::page_backing* backing = nullptr; // null: the pages are memory of the system or of the caller
    bool headers_out_of_band = false;        // the host does not touch the pages
    const char* why = "";                    // the reason that there is no range
};

} // namespace allot::inline ALLOT_ABI
