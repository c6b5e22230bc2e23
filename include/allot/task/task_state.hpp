// The states of a task of an executor, and the steps between them: data, by which the executor steps, and from which
// docs/tasks.md's picture is drawn.
//
//     waiting -> running -> ended
//
// Cost: 170 bytes, constant. Threads: any. Source: BlazingSQL's document of its executor, 2021.
#pragma once

#include <allot/config.hpp>
#include <allot/core/step_table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

enum class task_state : std::uint8_t {
    waiting,  // for memory and a thread
    starting, // it is promised its memory
    running,  // an attempt
    woken,    // as running; its waker was called meanwhile
    parked,   // until its waker is called
    ended,
};
inline constexpr std::size_t task_states = 6;

enum class task_event : std::uint8_t {
    chosen,
    started,  // with its memory
    put_back, // it was refused what it needs
    ran_out,  // of memory
    blocked,  // its kernel has returned would_block
    woke,     // its waker was called
    finished, // well, or with an error; or its group has ended
    withdrew, // it, or its group, before it runs
    retried,  // it has failed for good, and begins from the start
};
inline constexpr std::size_t task_events = 9;

struct task_transition {
    task_state from;
    task_event by;
    task_state to;
};

inline constexpr auto task_transitions = [] {
    using enum task_state;
    using enum task_event;
    return std::to_array<task_transition>({
        {waiting, chosen, starting},
        {waiting, woke, waiting},
        {waiting, withdrew, ended},
        {starting, started, running},
        {starting, put_back, waiting},
        {starting, woke, starting},
        {starting, withdrew, ended},
        {running, ran_out, waiting},
        {running, blocked, parked},
        {running, woke, woken},
        {running, finished, ended},
        {woken, ran_out, waiting},
        {woken, blocked, waiting},
        {woken, woke, woken},
        {woken, finished, ended},
        {parked, woke, waiting},
        {parked, withdrew, ended},
        // one that has failed
        {running, retried, waiting},
        {woken, retried, waiting},
    });
}();

inline constexpr step_table<task_state, task_event, task_states, task_events> task_table{task_transitions};
static_assert(!task_table.is_ambiguous(), "allot: two steps of one state and event");

constexpr const char* text_of(task_state s) noexcept {
    constexpr const char* texts[] = {"waiting", "starting", "running", "woken", "parked", "ended"};
    return texts[static_cast<std::size_t>(s)];
}
constexpr const char* text_of(task_event e) noexcept {
    constexpr const char* texts[] = {"chosen", "started",  "put_back", "ran_out", "blocked",
                                     "woke",   "finished", "withdrew", "retried"};
    return texts[static_cast<std::size_t>(e)];
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
