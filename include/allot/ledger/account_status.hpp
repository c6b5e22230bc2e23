// What an account is constructed with, what its requests return, and its figures: plain values.
//
// Cost: none at run time. Threads: values. Source: Drill's AllocationOutcome, 2014, whose FORCED_SUCCESS nobody ever
// returned; Arrow's AllocationOutcomeDetails, 2019, which climbs twice to find out what the first climb knew.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {

class account;

/// Bytes that are charged to the parent for the account from its start.
struct reservation {
    std::size_t bytes;
};

/// Bytes that an account may use beyond its limit; the status of such a charge is in_grace.
struct grace {
    std::size_t bytes;
};

/// A leaf takes credit in steps of this many bytes, 4 times as many from 16 steps on, 8 times from 64 on.
struct credit_step {
    std::size_t bytes = std::size_t{1} << 20;
};

/// Only one thread charges and refunds the account: its credit needs no locked operation.
struct one_thread {};

enum class charge_outcome : std::uint8_t {
    fits,       // within every limit
    in_grace,   // charged, beyond a limit, by no more than its grace
    forced,     // charged, beyond a limit, because the call said so
    over_limit, // not charged: `at` has no room
    vetoed,     // not charged: a listener of `at` refused
    closed,     // not charged: `at` was closed, or could not be opened
    misused,    // not done: two trees, or more than was charged
    no_memory,  // not charged, though no account refused: the memory behind it has none, or the host for its record
};

/// Whether the bytes are charged now.
constexpr bool is_charged(charge_outcome outcome) noexcept { return outcome <= charge_outcome::forced; }

constexpr std::string_view text_of(charge_outcome outcome) noexcept {
    constexpr std::string_view texts[] = {
        "fits",   "in grace", "forced over the limit",        "over the limit", "vetoed by a listener",
        "closed", "misused",  "the memory behind it has none"};
    return texts[static_cast<std::size_t>(outcome)];
}

/// True if the bytes are charged now. The figures are those of `at` before the request; null and 0 if it fits.
struct charge_status {
    charge_outcome outcome = charge_outcome::fits;
    const account* at = nullptr; // the level that refused, or whose limit is exceeded; valid while that account lives
    std::size_t asked = 0;       // bytes of the request
    std::size_t used = 0;
    std::size_t limit = 0;

    constexpr bool charged() const noexcept { return is_charged(outcome); }
    constexpr bool fitted() const noexcept { return outcome == charge_outcome::fits; }
    constexpr explicit operator bool() const noexcept { return charged(); }
};

/// An account's figures at a moment, in bytes unless said otherwise.
struct account_stats {
    const char* name = "";
    std::size_t used = 0;           // what counts against its limit: own charges, and the claims of the children
    std::size_t own = 0;            // the part that is charged to it and not to a child
    std::size_t credit = 0;         // credit, beside `used`; returned before a request is refused
    std::size_t subtree_charge = 0; // what it counts at its parent: used and ahead, at least its reservation
    std::size_t peak = 0;           // the most that was used by requests that succeeded
    std::size_t limit = 0;
    std::size_t grace = 0;
    std::size_t reservation = 0; // now; see maybe_reserve
    std::size_t committed = 0;   // committed by the system for its own items, as they report
    std::size_t resident = 0;    // the part that is in memory now
    unsigned depth = 0;          // 0: the root
    std::uint32_t children = 0;
    std::uint32_t buffers = 0, reservations = 0; // open, own
    std::uint64_t refused = 0;                   // requests, at this account's limit
    std::uint64_t beyond = 0;                    // charges in grace or by force, beyond this account's limit
};

} // namespace allot::inline ALLOT_ABI
