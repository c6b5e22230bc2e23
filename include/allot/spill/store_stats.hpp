// What a store counts.
//
// Cost: 184 bytes. Threads: values.
#pragma once

#include <allot/config.hpp>
#include <allot/spill/home.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// What a store did, in entries and bytes.
struct store_stats {
    std::size_t entries = 0;       // now
    std::size_t in_memory = 0;     // bytes charged for those that are in memory now
    std::size_t free_to_leave = 0; // of them, of those that are not pinned
    std::uint64_t left = 0;        // times that an entry's memory was freed, and what became free
    std::uint64_t bytes_left = 0;
    std::uint64_t written = 0; // times that an entry was written; one that left clean was not
    std::uint64_t bytes_written = 0;
    std::uint64_t read = 0;
    std::uint64_t bytes_read = 0;
    std::uint64_t failures = 0; // writes and reads that failed, or that the home refused
    home_status last_failure{};
    std::uint64_t paused_ns = 0; // for which requests have nothing written yet, since a write has failed
};

} // namespace allot::inline ALLOT_ABI
