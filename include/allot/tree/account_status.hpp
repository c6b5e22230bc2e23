// Plain values of accounts: what one is constructed with, and statistics.
//
// Cost: none at run time. Threads: values. Source: Drill's allocator tree, 2014.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

namespace detail {
inline constexpr std::size_t max_charged = PTRDIFF_MAX; // bytes that an account can count
}

/// A use in bytes. A charge that makes an account use more has reclaimers free the excess ahead of need
/// (free_ahead.hpp). SIZE_MAX: none. One at or above the limit never does.
struct watermark {
    std::size_t bytes;
};

/// A leaf is granted credit in steps of this many bytes; 4 times as many once it uses 16 steps, 8 times from 64 steps
/// on. 0: no credit. An account with a larger step than `max_bytes` is refused.
struct credit_step {
    static constexpr std::size_t max_bytes = std::size_t{1} << 26;
    std::size_t bytes = std::size_t{1} << 20;
};

/// An account's statistics at one moment, in bytes unless said otherwise.
struct account_stats {
    const char* name = "";
    std::size_t used = 0;           // what the limit bounds: `own`, and the subtree charges of the children
    std::size_t own = 0;            // charged to this account itself
    std::size_t credit = 0;         // granted and unused, not in `used`; recalled before a request is refused
    std::size_t subtree_charge = 0; // what it counts at its parent: max(used + credit, reservation - owed)
    std::size_t peak = 0;           // the largest `used` of requests that succeeded
    std::size_t limit = 0;
    std::size_t watermark = SIZE_MAX; // none
    std::size_t reservation = 0;      // floors, and bytes to come beyond what was used (account_reservation.hpp)
    std::size_t owed = 0;             // part of it, which pools have: blocks that came back, and nothing else is free
    std::size_t committed = 0;        // of its own items, as they report: promised by the system
    std::size_t resident = 0;         // of its own items, as they report: in memory now
    unsigned depth = 0;               // 0: the root
    std::uint32_t children = 0;
    std::uint32_t buffers = 0; // open in this account
    std::uint32_t waiting = 0; // requests of it and below that sleep until memory is free
    std::uint32_t passed = 0;  // granted before the first of those that wait at this level
    std::uint64_t refused = 0; // requests refused at this account's limit
    std::uint64_t beyond = 0;  // charges beyond this account's limit, by force
    bool lowered = false;      // its limit was set below what it used then
    std::uint64_t spilled = 0; // bytes of stored objects that have left, from here and below, so far
};

} // namespace allot::inline ALLOT_ABI
