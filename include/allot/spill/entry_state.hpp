// The states of an entry of a store, and the steps between them: data, from which the store steps and docs/spill.md's
// table is written.
//
//   state      in memory   at home              what may happen next
//   here       yes         no                   it is pinned; it is written, to leave
//   both       yes         yes                  it is pinned; it leaves without being written
//   leaving    yes         being written        a pin keeps it in memory: it is `both` then. A pin to change waits
//   freeing    being freed yes                  a pin waits until it is away, and reads it
//   away       no          yes                  a pin reads it
//   reading    being made  yes                  pins of others wait for the reader, who waits for no memory
//
// Where a read fails, the entry is away as before: its readers get the error, and may try again.
// An event that a state does not name is wrong there, and changes nothing. Cost: 120 bytes, constant. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/step_table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace spill {

enum class entry_state : std::uint8_t { here, both, leaving, freeing, away, reading };
namespace detail {

inline constexpr std::size_t entry_states = 6;

enum class entry_event : std::uint8_t {
    leave,   // a thread begins to write it to its home, if that does not keep it, and frees its memory then
    written, // it is at home, and not pinned: its memory is freed now
    left,    // it is
    kept,    // it is at home, and its memory stays: it was pinned meanwhile
    failed,  // it could not be written, or was pinned before
    change,  // a pin that may change the bytes
    read,    // a thread begins to make it in memory again
    made,    // it is in memory, and stays at home
    moved,   // it is in memory, and its home does not keep it
    refused, // there was no memory, or the read failed
};
inline constexpr std::size_t entry_events = 10;

struct entry_step {
    entry_state from;
    entry_event by;
    entry_state to;
};

inline constexpr auto entry_steps = [] {
    using enum entry_state;
    using enum entry_event;
    return std::to_array<entry_step>({
        {here, leave, leaving},
        {both, leave, leaving},
        {leaving, written, freeing},
        {leaving, kept, both},
        {leaving, failed, here},
        {freeing, left, away},
        {here, change, here},
        {both, change, here},
        {away, read, reading},
        {away, made, both}, // by a thread that waited for memory meanwhile
        {away, moved, here},
        {reading, made, both},
        {reading, moved, here},
        {reading, refused, away},
    });
}();

inline constexpr allot::detail::step_table<entry_state, entry_event, entry_states, entry_events> entry_table{
    entry_steps};
static_assert(!entry_table.is_ambiguous(), "allot: two steps of one state and event");

/// Whether the event may come to an entry in this state.
constexpr bool is_legal(entry_state from, entry_event by) noexcept { return detail::entry_table.is_legal(from, by); }
/// The state after the event; the same state if it is not legal.
constexpr entry_state after(entry_state from, entry_event by) noexcept { return detail::entry_table.after(from, by); }

/// Whether its bytes are in memory.
constexpr bool is_in_memory(entry_state s) noexcept { return s <= entry_state::leaving; }

} // namespace detail
constexpr const char* text_of(entry_state s) noexcept {
    constexpr const char* texts[] = {"here", "both", "leaving", "freeing", "away", "reading"};
    return texts[static_cast<std::size_t>(s)];
}

} // namespace spill
} // namespace allot::inline ALLOT_ABI
