// Statistics of an arena, and the states of a page.
//
// Cost: a walk over the arena's bitmaps, when they are read. Threads: values; each is right at some moment of the call,
// not all at the same one.
#pragma once

#include <allot/config.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

/// All in bytes.
struct arena_stats {
    std::size_t reserved = 0;
    std::size_t limit = 0;
    std::size_t taken = 0;
    std::size_t peak_taken = 0;
    std::size_t committed = 0; // taken, or free and not returned to the system
    std::size_t free = 0;      // limit - taken
    std::size_t largest_free_run = 0;
    std::size_t returned = 0; // to the system so far
};

/// `untouched`: never committed; `clean`: free, holds no memory of the system; `dirty`: free, may hold some.
enum class page_state : unsigned char { untouched, clean, dirty, taken };

} // namespace allot::inline ALLOT_ABI
