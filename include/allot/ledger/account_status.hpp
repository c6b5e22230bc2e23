// Plain values of accounts: what one is constructed with, the status of a request, statistics.
//
// Cost: none at run time. Threads: values. Source: Drill's AllocationOutcome, 2014, and Arrow's
// AllocationOutcomeDetails, 2019, which finds the refusing level by a second climb; here the first climb reports it.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {

class account;

namespace detail {
inline constexpr std::size_t most_charged = PTRDIFF_MAX; // bytes that an account can count
}

/// Bytes that an account charges to its parent from its start, used or not.
struct reservation {
    std::size_t bytes;
};

/// Bytes that an account may use beyond its limit; the status of such a charge is in_grace.
struct grace {
    std::size_t bytes;
};

/// A leaf is granted credit in steps of this many bytes; 4 times as many once it uses 16 steps, 8 times from 64 steps
/// on. 0: no credit. An account with a larger step than `most` is refused.
struct credit_step {
    static constexpr std::size_t most = std::size_t{1} << 26;
    std::size_t bytes = std::size_t{1} << 20;
};

/// Only one thread charges and refunds the account, so its credit needs no locked operation. Such an account has no
/// children. Others need its credit at times: its thread returns it with its next request, refund(0) for example.
struct one_thread {};

enum class charge_outcome : std::uint8_t {
    fits,       // charged, within every limit
    in_grace,   // charged, beyond a limit by at most its grace
    forced,     // charged, beyond a limit, by a call that forces
    over_limit, // not charged: `at` has no headroom
    vetoed,     // not charged: a listener of `at` refused
    closed,     // not charged: `at`, the account itself or one above, is closed
    misused,    // not done: accounts of two trees, more than was charged, or a wrong call (see the function)
    no_memory,  // not charged, though no account refused: the memory source, or the host for a record, has none
};

/// Whether the bytes are charged now.
constexpr bool is_charged(charge_outcome outcome) noexcept { return outcome <= charge_outcome::forced; }

constexpr std::string_view text_of(charge_outcome outcome) noexcept {
    constexpr std::string_view texts[] = {"fits",
                                          "in grace",
                                          "forced over the limit",
                                          "over the limit",
                                          "vetoed by a listener",
                                          "closed",
                                          "misused",
                                          "the memory source or the host has no memory"};
    return texts[static_cast<std::size_t>(outcome)];
}

/// The result of a request; true if the bytes are charged now. `used` and `limit` are those of `at` before the request;
/// `at` is null, and all numbers are 0, if it fits.
struct charge_status {
    charge_outcome outcome = charge_outcome::fits;
    const account* at = nullptr; // the level that refused, or whose limit is exceeded; dangles once that account ends
    std::size_t requested = 0;   // bytes requested
    std::size_t used = 0;
    std::size_t limit = 0;

    constexpr bool charged() const noexcept { return is_charged(outcome); }
    constexpr bool fitted() const noexcept { return outcome == charge_outcome::fits; }
    constexpr explicit operator bool() const noexcept { return charged(); }
};

/// An account's statistics at one moment, in bytes unless said otherwise.
struct account_stats {
    const char* name = "";
    std::size_t used = 0;           // what the limit bounds: `own`, and the subtree charges of the children
    std::size_t own = 0;            // charged to this account itself
    std::size_t credit = 0;         // granted and unused, not in `used`; recalled before a request is refused
    std::size_t subtree_charge = 0; // what it counts at its parent: max(used + credit, reservation)
    std::size_t peak = 0;           // the largest `used` of requests that succeeded
    std::size_t limit = 0;
    std::size_t grace = 0;
    std::size_t reservation = 0; // the constructor's, and what maybe_reserve() added
    std::size_t committed = 0;   // of its own items, as they report: promised by the system
    std::size_t resident = 0;    // of its own items, as they report: in memory now
    unsigned depth = 0;          // 0: the root
    std::uint32_t children = 0;
    std::uint32_t buffers = 0, buffer_reservations = 0; // open in this account
    std::uint64_t refused = 0;                          // requests refused at this account's limit
    std::uint64_t beyond = 0;                           // charges beyond this account's limit, in grace or forced
};

} // namespace allot::inline ALLOT_ABI
