// A chunk arena's figures at a moment.
//
// Threads: values.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// Memory that was allocated; none: address null. The host touches it only where the pages are its own.
struct block {
    void* address = nullptr;
    std::size_t bytes = 0; // that may be used: those asked for, or more
    explicit operator bool() const noexcept { return address != nullptr; }
};

/// Bytes unless said otherwise. live + cached + free = held.
struct chunk_stats {
    std::size_t live = 0;        // in blocks that somebody has, what they may use beyond what they asked for included
    std::size_t live_blocks = 0; // in number
    std::size_t cached = 0;      // free, in the caches of threads and of the arena
    std::size_t free = 0;        // in chunks
    std::size_t held = 0;        // pages: what the limit bounds
    std::size_t large = 0;       // of live: blocks of more than a chunk
    std::size_t peak = 0;        // of held; its arena's where the set charges nobody
    std::size_t limit = 0;       // the arena's where the set charges nobody
    std::size_t largest_free_run = 0; // in the chunks
    std::size_t metadata = 0;         // on the host; the most of it address space
    std::uint64_t refused = 0;        // requests so far
    // so far; 0 under watch::none
    std::uint64_t allocations = 0;
    std::uint64_t asked = 0, given = 0; // by requests that were met: bytes they wanted, bytes of their blocks

    /// Parts in 10,000 of what was given that nobody asked for.
    std::uint64_t waste() const noexcept {
        return given == 0 ? 0
                          : static_cast<std::uint64_t>(
                                static_cast<double>(given - asked) / static_cast<double>(given) * 10000.0 + 0.5);
    }
};

/// One size class.
struct class_usage {
    std::size_t bytes = 0; // of a block; 0: those of more than a chunk
    std::size_t live = 0;  // blocks
    std::size_t cached = 0;
    std::uint64_t allocations = 0, asked = 0; // so far
};

} // namespace allot::inline ALLOT_ABI
