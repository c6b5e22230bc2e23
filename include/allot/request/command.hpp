// An event that is reported to an arbiter: of a thread, a task or a resource with its numbers; and what it answers.
//
// Accounts, tasks, scopes and waits post commands; the arbiter applies each to its machine (oom/machine.hpp) and logs
// it. An event that does not fit the state of its thread changes nothing, so a log that is replayed gives the same
// states.
// Cost: 40 bytes. Threads: values.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace oom {

using task_id = std::uint32_t;
using thread_id = std::uint32_t;
using resource_id = std::uint32_t;
inline constexpr std::uint32_t no_id = UINT32_MAX;

// The first ones lead a thread from one state to the next (oom/transition_table.hpp).
enum class event : std::uint8_t {
    // from the thread
    started, // it works for a task from now on; detail: thread_kind; number: 1 + the thread whose scope it joins, or 0
    announced, // its request was refused, and will be made again; detail: memory_kind
    granted,   // the request was, at last
    failed,    // refused again; detail: bits, see below; bytes: that no task holds there; free; number: share that its
               // task had and requested of what tasks may have there, 0: not known
    given_up,  // the request ends without memory: by its deadline, a cancellation, or since it can never fit
    thrown,    // the error has been thrown, or its refusal reported
    ready,     // it has freed what it can
    ended,     // it works for no task any more
    // from others
    freed,   // memory may have become free
    may_fit, // the request may fit now
    removed, // its task is aborted; without a thread: that task is
    // decided by the machine
    woken,       // others have made progress
    tries_alone, // it may try once more while all others are rolled back
    rolled_back,
    split,
    refused,  // it can be neither rolled back nor split
    let_pass, // its request fits: it is made before the one that it goes behind
    delayed,  // the decision is put off: bytes that no task holds may serve it, or a wait may be over

    // from the thread; its state changes if the machine decides so
    requested,   // its request was refused for the first time
    injected,    // the same, on purpose; detail: charge_outcome
    never_fits,  // its request is larger than its limit: no other's end helps it; detail: memory_kind
    overdue,     // it has slept as long as it may
    waited_long, // a decision was put off as long as it may be
    scope_begun, // detail: 1 if free memory is whole again
    scope_ended, // detail: 1 if its work is done; free; number: share that its task keeps, -1: not known
    barred,      // detail: 1 while it must not be rolled back
    waits,       // detail: waits_for; on; number: as scope_ended
    covered,     // detail: 1 while the same thread works by an inner token
    joined,      // it works for a further task
    left,        // it works for one of its tasks no longer
    // from others
    task_begun, // number, free: its priority
    task_ended,
    resource_begun, // number: of permits
    resource_ended,
    held,         // number: the task, no_id: none of them; by this thread
    let_go,       // number: as held
    refunded,     // bytes were, or reclaimers can free some; detail: memory_kind
    held_outside, // bytes, by no task, until `returned`; detail: memory_kind
    returned,     // the same
};
namespace detail {

inline constexpr std::uint8_t failed_by_own_limit = 1; // a limit of its task alone refuses
inline constexpr std::uint8_t failed_held_back = 2;    // it fits, but goes behind one that is due
inline constexpr std::int64_t whole_share = 1 << 20;   // of what tasks may have

} // namespace detail
inline constexpr std::size_t events = 18; // that change a thread's state
namespace detail {

inline constexpr std::size_t all_events = 39;

// In parts of `whole_share`, rounded up; 0 of no bytes, and where tasks may have none.
constexpr std::int64_t share_of(std::size_t bytes, std::size_t all) noexcept {
    if (bytes == 0 || all == 0) return 0;
    const double share = static_cast<double>(bytes) / static_cast<double>(all);
    return share < 1 ? 1 + static_cast<std::int64_t>(share * static_cast<double>(whole_share)) : whole_share;
}

} // namespace detail

constexpr std::string_view text_of(event e) noexcept {
    constexpr std::string_view texts[] = {
        "started", "announced",   "granted",      "failed",      "given_up",       "thrown",         "ready",
        "ended",   "freed",       "may_fit",      "removed",     "woken",          "tries_alone",    "rolled_back",
        "split",   "refused",     "let_pass",     "delayed",     "requested",      "injected",       "never_fits",
        "overdue", "waited_long", "scope_begun",  "scope_ended", "barred",         "waits",          "covered",
        "joined",  "left",        "task_begun",   "task_ended",  "resource_begun", "resource_ended", "held",
        "let_go",  "refunded",    "held_outside", "returned"};
    static_assert(sizeof texts / sizeof *texts == detail::all_events);
    return texts[static_cast<std::size_t>(e)];
}

struct command {
    event what = event::started;
    std::uint8_t detail = 0;
    thread_id thread = no_id;
    std::uint32_t on = no_id; // a task or resource
    std::int64_t number = 0;
    std::uint64_t bytes = 0; // requested, or as the event says
    std::uint64_t free = 0;  // bytes that are free, where that is known; SIZE_MAX: not

    friend bool operator==(const command&, const command&) = default;
};

} // namespace oom

/// What a thread does next whose request was refused. A charge_outcome says what a request came to: of these only the
/// ends are, and `refused` is no outcome of its own, since it stays what its limit said.
enum class verdict : std::uint8_t {
    sleep,     // until memory may be free, or others end
    passes,    // at once, before the request that it waits behind: no task can go on else
    goes_back, // it was rolled back before, and requests more: it sleeps first
    try_again, // at once
    roll_back, // free what was taken, and begin again
    split,     // and with a smaller input
    removed,   // its task was removed
    refused,   // it can be neither rolled back nor split
};

} // namespace allot::inline ALLOT_ABI
