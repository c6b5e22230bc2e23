// How many slots a heap's slot policy scans to find free ones. Empty for policies that do not scan.
//
// Cost: two additions per claim. Threads: the holder of the heap's lock.
// Source: HPCC roxiemem's StNumAllocationScans, 2015.
#pragma once

#include <allot/config.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct scan_counters {
    std::size_t scanned = 0; // slots examined
    std::size_t found = 0;   // free slots among them

    void add(std::size_t at, std::size_t got) noexcept {
        scanned += at;
        found += got;
    }
};

struct no_scan_counters {
    static constexpr std::size_t scanned = 0;
    static constexpr std::size_t found = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
