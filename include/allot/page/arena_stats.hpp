// What an arena tells of itself: figures of all its pages, and how one of them stands.
//
// Cost: asked for, a walk over the arena's bitmaps. Threads: values; those of a moment, each right, not all of the
// same one.
#pragma once

#include <allot/config.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

// An arena's figures at a moment, in bytes.
struct arena_stats {
    std::size_t reserved = 0;
    std::size_t limit = 0;
    std::size_t taken = 0;
    std::size_t peak_taken = 0;
    std::size_t committed = 0; // taken, or free and not yet given back to the system
    std::size_t free = 0;      // still to be had under limit and address space
    std::size_t largest_free_run = 0;
    std::size_t returned = 0; // given back to the system so far
};

// How a page stands: `clean` and `dirty` ones are free, the latter may hold memory of the system.
enum class page_state : unsigned char { untouched, clean, dirty, taken };

} // namespace allot::inline ALLOT_ABI
