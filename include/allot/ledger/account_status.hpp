// What an account answers, what it is made with, and what it tells: plain values.
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

/// Bytes that are an account's from its start, whatever others do.
struct reservation {
    std::size_t bytes;
};

/// How far beyond its limit an account may go when nothing else helps; each such charge says so.
struct grace {
    std::size_t bytes;
};

/// A leaf takes room ahead in steps: of so many bytes, four times as many from 16 steps on, eight times from 64 on.
struct steps {
    std::size_t bytes = std::size_t{1} << 20;
};

/// An account that one thread charges and refunds: its room needs no locked operation.
struct one_thread {};

enum class charge_outcome : std::uint8_t {
    fits,       // within every limit
    in_grace,   // charged, beyond a limit, by no more than its grace
    forced,     // charged, beyond a limit, because the call said so
    over_limit, // not charged: `at` has no room
    vetoed,     // not charged: a listener of `at` did not want it
    closed,     // not charged: `at` was closed, or could not be opened
    misused,    // not done: two trees, or more than was charged
    no_memory,  // not charged, though no account refused: the memory behind it has none, or the host for what is kept
                // about it
};

/// Whether the bytes are charged now.
constexpr bool is_charged(charge_outcome outcome) noexcept { return outcome <= charge_outcome::forced; }

constexpr std::string_view text_of(charge_outcome outcome) noexcept {
    constexpr std::string_view texts[] = {
        "fits",   "in grace", "forced over the limit",        "over the limit", "vetoed by a listener",
        "closed", "misused",  "the memory behind it has none"};
    return texts[static_cast<std::size_t>(outcome)];
}

/// True where the bytes are charged now. Figures are those of `at` at that moment, before the request; null and 0 where
/// all fits.
struct charge_status {
    charge_outcome outcome = charge_outcome::fits;
    const account* at = nullptr; // the level that refused, or whose limit is exceeded; valid as long as that account is
    std::size_t asked = 0;       // bytes of the request
    std::size_t used = 0;
    std::size_t limit = 0;

    constexpr bool charged() const noexcept { return is_charged(outcome); }
    constexpr bool fitted() const noexcept { return outcome == charge_outcome::fits; }
    constexpr explicit operator bool() const noexcept { return charged(); }
};

/// An account's figures at a moment, in bytes unless said otherwise.
struct account_figures {
    const char* name = "";
    std::size_t used = 0;    // what counts against its limit: its own charges, and what its children have of it
    std::size_t own = 0;     // of that, charged to it and not to a child
    std::size_t ahead = 0;   // taken ahead in steps, beside `used`; called in before a request is refused
    std::size_t claimed = 0; // what it has of its parent: used and ahead, its reservation at least
    std::size_t peak = 0;    // the most that was used by requests that were met
    std::size_t limit = 0;
    std::size_t grace = 0;
    std::size_t reservation = 0; // now; see maybe_reserve
    std::size_t committed = 0;   // that the system has promised to its own items, as they tell
    std::size_t resident = 0;    // of that, in memory now
    unsigned depth = 0;          // 0: the root
    std::uint32_t children = 0;
    std::uint32_t buffers = 0, reservations = 0; // open, own
    std::uint64_t refused = 0;                   // requests, at this account's limit
    std::uint64_t beyond = 0;                    // charges in grace or by force, beyond this account's limit
};

} // namespace allot::inline ALLOT_ABI
