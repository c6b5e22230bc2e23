// The states of an operand, and the steps between them: data, from which the graph steps and docs/tasks.md's picture is
// drawn.
//
//     waiting -> queued -> loading -> computing -> storing -> done
//
// An event that a state does not name is wrong there, and changes nothing. Cost: 220 bytes, constant. Threads: any.
// Source: Mars' operand actors, 2018.
#pragma once

#include <allot/config.hpp>
#include <allot/core/step_table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace operand {

enum class state : std::uint8_t {
    waiting, // for operands that it depends on
    queued,  // for memory and a thread
    loading, // its inputs are brought in
    computing,
    storing, // its result goes where others find it
    done,
    elsewhere, // another place makes it
    withdrawn, // nobody needs it, or an operand that it depends on
};
inline constexpr std::size_t states = 8;

enum class event : std::uint8_t {
    ready,    // all that it depends on are done
    begun,    // a thread has begun an attempt
    loaded,   // its inputs are in memory
    computed, // it has its result
    stored,   // the result is there
    ran_out,  // of memory: it begins again
    left,     // an outside scheduler has it made elsewhere
    withdrew,
    recovered, // it has failed, and its function for errors gave a result
    retried,   // it has failed, and that function asked for another run
};
inline constexpr std::size_t events = 10;

struct step {
    state from;
    event by;
    state to;
};

inline constexpr auto steps = [] {
    using enum state;
    using enum event;
    return std::to_array<step>({
        {waiting, ready, queued},
        {waiting, left, elsewhere},
        {waiting, withdrew, withdrawn},
        {queued, begun, loading},
        {queued, withdrew, withdrawn},
        {loading, loaded, computing},
        {loading, ran_out, queued},
        {computing, computed, storing},
        {computing, ran_out, queued},
        {storing, stored, done},
        {storing, ran_out, queued}, // its result could not move to where it is stored from
        {elsewhere, stored, done},
        {elsewhere, withdrew, withdrawn},
        // one that has failed; it is queued where its last attempt ran out of memory
        {queued, recovered, storing},
        {loading, recovered, storing},
        {computing, recovered, storing},
        {queued, retried, queued},
        {loading, retried, queued},
        {computing, retried, queued},
        {elsewhere, retried, waiting},
    });
}();

namespace detail {

inline constexpr allot::detail::step_table<state, event, states, events> table{steps};
static_assert(!table.is_ambiguous(), "allot: two steps of one state and event");

constexpr bool is_legal(state from, event by) noexcept { return detail::table.is_legal(from, by); }
constexpr state after(state from, event by) noexcept { return detail::table.after(from, by); }

} // namespace detail
constexpr const char* text_of(state s) noexcept {
    constexpr const char* texts[] = {"waiting", "queued", "loading",   "computing",
                                     "storing", "done",   "elsewhere", "withdrawn"};
    return texts[static_cast<std::size_t>(s)];
}
constexpr const char* text_of(event e) noexcept {
    constexpr const char* texts[] = {"ready",   "begun", "loaded",   "computed",  "stored",
                                     "ran_out", "left",  "withdrew", "recovered", "retried"};
    return texts[static_cast<std::size_t>(e)];
}

} // namespace operand
} // namespace allot::inline ALLOT_ABI
