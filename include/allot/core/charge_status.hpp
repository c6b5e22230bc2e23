// The status of a request for memory: granted, or refused, by what and why. One struct for accounts and all products.
//
// Cost: none where a request is granted. Threads: values. Source: Drill's AllocationOutcome, 2014, and Arrow's
// AllocationOutcomeDetails, 2019, which finds the refusing level by a second climb; here the first climb reports it.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {

class account;

enum class charge_outcome : std::uint8_t {
    fits,             // charged, within every limit
    forced,           // charged, beyond a limit, by a call that forces
    over_limit,       // not charged: beyond the limit of what refused it
    injected,         // not charged: refused on purpose, for a test (oom/injection.hpp)
    closed,           // not charged: `at` is closed
    misused,          // not done: accounts of two trees, more than was charged, or a wrong call (see the function)
    no_memory,        // the system, the device, a memory source, or the host for a record, has none; no limit refused
    cancelled,        // not charged: its wait was cancelled
    no_address_space, // an arena has no free run of pages of that size in the address space that it reserved
    rolled_back,      // not charged: an arbiter rolls the thread back (docs/oom.md)
    split,            // not charged: the same, and the input must be smaller
    removed,          // not charged: the thread's task was removed
    held_back,        // not charged: it would fit, but a request that waits for memory there is next
    queued,           // not charged yet: a reservation_request waits for it
};

namespace detail {

/// Whether the bytes are charged now.
constexpr bool is_charged(charge_outcome outcome) noexcept { return outcome <= charge_outcome::forced; }

} // namespace detail
/// Whether an arbiter ended the request: its retry scope says how to go on (oom/retry_scope.hpp).
constexpr bool is_verdict(charge_outcome outcome) noexcept {
    return outcome == charge_outcome::rolled_back || outcome == charge_outcome::split ||
           outcome == charge_outcome::removed;
}

constexpr std::string_view text_of(charge_outcome outcome) noexcept {
    constexpr std::string_view texts[] = {"fits",
                                          "forced over the limit",
                                          "over the limit",
                                          "refused on purpose",
                                          "closed",
                                          "misused",
                                          "no memory",
                                          "cancelled",
                                          "no address space",
                                          "rolled back",
                                          "to be split",
                                          "removed with its task",
                                          "behind a request that waits",
                                          "queued"};
    return texts[static_cast<std::size_t>(outcome)];
}

/// What refused a request.
enum class refuser : std::uint8_t {
    none,    // nothing did, or it has no numbers: a misuse, the host's heap, which has no memory for a record
    account, // an account, at its limit
    limit,   // the limit of a row manager, chunk arena or device allocator itself
    arena,   // an arena: its limit, its address space, or the system behind it
    device,  // the device behind a device allocator
    system,  // a source of buffers that does not say why it has no block: the process' heap, a source of the user
};

/// The result of a request; true if the bytes are charged now. All is 0, null or "" where it fits.
/// `used` and `limit` are those of what refused, before the request.
struct charge_status {
    charge_outcome outcome = charge_outcome::fits;
    charge_outcome refused = charge_outcome::fits; // of a verdict: the refusal that it ended
    refuser by = refuser::none;
    std::uint8_t halved = 0;     // no_address_space: how often the system had an arena halve what it was to reserve
    const account* at = nullptr; // the account that refused, or whose limit is exceeded; dangles once that account ends
    std::size_t requested = 0;   // bytes requested of what refused: where it pays for pages whole pages
    std::size_t used = 0;
    std::size_t limit = 0; // SIZE_MAX: none
    const char* name =
        ""; // of what refused, as long-lived as its giver makes it; without a refuser, a text: the misuse

    constexpr bool charged() const noexcept { return detail::is_charged(outcome); }
    constexpr bool fitted() const noexcept { return outcome == charge_outcome::fits; }
    constexpr explicit operator bool() const noexcept { return charged(); }
};

namespace detail {

/// The same status with this verdict; the refusal that it ends is kept.
constexpr charge_status with_verdict(charge_status s, charge_outcome verdict) noexcept {
    if (!is_verdict(s.outcome)) s.refused = s.outcome;
    return s.outcome = verdict, s;
}

} // namespace detail
/// The refusal that a verdict ended, and that could not be granted; another status as it is.
constexpr charge_status refusal_of(charge_status s) noexcept {
    if (!is_verdict(s.outcome)) return s;
    s.outcome = detail::is_charged(s.refused) ? charge_outcome::over_limit : s.refused; // of one that a program made
    return s.refused = charge_outcome::fits, s;
}

/// Writes "over the limit: account query 7 uses 95 MiB of 100 MiB; the request needs 20 MiB", or "closed: account query
/// 7". What it needs is left out where it is `named`: the bytes that the text in front of it says.
ALLOT_OUTLINE constexpr void write(text_writer& out, const charge_status& s, std::size_t named = 0) noexcept {
    constexpr std::string_view kinds[] = {"", "account ", "", "arena ", "the device of ", ""};
    constexpr std::string_view nameless[] = {"", "an account", "it", "its arena", "its device", "the system"};
    out.put(text_of(s.outcome));
    if (s.by == refuser::none) {
        if (*s.name != 0) out.put(": ").put(s.name);
        return;
    }
    const auto kind = static_cast<std::size_t>(s.by);
    out.put(": ");
    if (*s.name == 0) out.put(nameless[kind]);
    else out.put(kinds[kind]).brief(s.name);
    if (s.outcome == charge_outcome::closed || s.by == refuser::system) return;
    out.put(" uses ").bytes(s.used);
    if (s.by == refuser::account && s.outcome == charge_outcome::over_limit && s.limit >= PTRDIFF_MAX)
        out.put(" of 2^63 - 1 bytes, which no sum may exceed");
    else if (s.limit == SIZE_MAX) out.put(", without a limit");
    else out.put(" of ").bytes(s.limit);
    const bool is_full = s.outcome == charge_outcome::no_address_space;
    if (is_full && s.halved != 0) out.put(", which the system gave it of ").bytes(s.limit << s.halved);
    if (s.requested != named) out.put("; the request needs ").bytes(s.requested);
    if (!is_full) return;
    constexpr std::size_t most = std::size_t{1} << 47; // of a process
    if (s.requested >= most) out.put("; no process has as much");
    else out.put(s.halved == 0 ? "; pass a larger reserve_bytes" : "; raise ulimit -v");
}

} // namespace allot::inline ALLOT_ABI
