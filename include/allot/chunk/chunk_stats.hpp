// Blocks of a chunk arena, and its statistics.
//
// Threads: values.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// The result of an allocation; address null: none. Under page::on_device the host must not touch the memory.
struct block {
    void* address = nullptr;
    std::size_t bytes = 0; // usable: those requested, or more
    explicit operator bool() const noexcept { return address != nullptr; }
};

/// In bytes, except where noted. live + cached + free + idle + books = charged.
struct chunk_stats {
    std::size_t live = 0;             // in live blocks, with what they have beyond the bytes requested
    std::size_t live_blocks = 0;      // a number
    std::size_t cached = 0;           // free, in the caches of threads and of the arena
    std::size_t free = 0;             // in chunks
    std::size_t idle = 0;             // of a private arena: free, and may hold memory until it returns to the system
    std::size_t books = 0;            // of the library's own objects (docs/accounts.md#books)
    std::size_t charged = 0;          // the limit bounds it
    std::size_t large = 0;            // of live: blocks larger than a chunk
    std::size_t peak = 0;             // of charged; under ledger::none the peak of its arena
    std::size_t limit = 0;            // under ledger::none the limit of its arena
    std::size_t largest_free_run = 0; // in the chunks
    std::size_t metadata = 0;         // on the host; most of it is address space
    std::uint64_t refused = 0;        // number of requests so far
    // Numbers so far; 0 under watch::none.
    std::uint64_t allocations = 0;
    std::uint64_t requested = 0, granted = 0; // of successful requests: bytes requested, bytes of their blocks

    /// The share of `granted` that was not requested, in parts per 10,000.
    std::uint64_t waste() const noexcept {
        return granted == 0
                   ? 0
                   : static_cast<std::uint64_t>(
                         static_cast<double>(granted - requested) / static_cast<double>(granted) * 10000.0 + 0.5);
    }
};

/// The blocks of one size class.
struct class_usage {
    std::size_t bytes = 0;                        // of a block
    std::size_t live = 0;                         // number of blocks
    std::size_t cached = 0;                       // number of blocks
    std::uint64_t allocations = 0, requested = 0; // so far: number, bytes requested
};

} // namespace allot::inline ALLOT_ABI
