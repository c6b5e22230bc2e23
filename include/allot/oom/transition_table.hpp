// The transitions of a thread: data, from which the machine steps and the diagram of docs/oom.md is drawn.
//
// Each event that a state does not name here is wrong in that state, and changes nothing.
// Cost: 361 bytes, constant. Threads: any.
// Source: the transitions of Spark-RAPIDS' SparkResourceAdaptor, as its code has them, 2026; `alloc` begins at the first
// refusal here, not at each request.
#pragma once

#include <allot/config.hpp>
#include <allot/core/step_table.hpp>
#include <allot/oom/thread_state.hpp>
#include <allot/request/command.hpp>

#include <array>
#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace oom {
namespace detail {

struct transition {
    thread_state from;
    event by;
    thread_state to;
};

inline constexpr auto transitions = [] {
    using enum thread_state;
    using enum event;
    return std::to_array<transition>({
        {unknown, started, running},
        // a request
        {running, announced, alloc},
        {alloc, freed, alloc_free},
        {alloc_free, freed, alloc_free},
        {alloc, granted, running},
        {alloc_free, granted, running},
        {alloc, may_fit, running}, // before it was said that it failed
        {alloc_free, may_fit, running},
        {alloc_free, failed, running}, // it is announced and made again at once
        {alloc, failed, blocked},
        {alloc, given_up, running},
        {alloc_free, given_up, running},
        {blocked, given_up, running},
        // a sleeper
        {blocked, may_fit, running},
        {blocked, tries_alone, running},
        {blocked, let_pass, running},
        {blocked, rolled_back, bufn_throw},
        {blocked, split, split_throw},
        {blocked, refused, running},
        {blocked, delayed, blocked},
        {blocked, removed, remove_throw},
        // one that has tried alone
        {alloc, rolled_back, bufn_throw},
        // whose workers are
        {running, rolled_back, bufn_throw},
        {alloc_free, rolled_back, bufn_throw},
        {bufn_throw, ready, bufn}, // a worker has thrown for it
        {alloc, refused, running},
        // one that can never fit
        {alloc, split, split_throw},
        {alloc_free, split, split_throw},
        {alloc_free, refused, running},
        // rolled back
        {bufn_throw, thrown, bufn_wait},
        {bufn_wait, ready, bufn},
        {running, ready, running}, // it was woken meanwhile
        {bufn, tries_alone, running},
        {bufn, delayed, bufn},
        {bufn, split, split_throw},
        {bufn, refused, running},
        {bufn, removed, remove_throw},
        {bufn_throw, woken, running},
        {bufn_wait, woken, running},
        {bufn, woken, running},
        {split_throw, thrown, running},
        {remove_throw, thrown, unknown},
        // removed while it is awake
        {running, removed, remove_throw},
        {alloc, removed, remove_throw},
        {alloc_free, removed, remove_throw},
        {bufn_throw, removed, remove_throw},
        {bufn_wait, removed, remove_throw},
        {split_throw, removed, remove_throw},
        {remove_throw, removed, remove_throw},
        // the end
        {running, ended, unknown},
        {alloc, ended, unknown},
        {alloc_free, ended, unknown},
        {blocked, ended, unknown},
        {bufn_throw, ended, unknown},
        {bufn_wait, ended, unknown},
        {bufn, ended, unknown},
        {split_throw, ended, unknown},
        {remove_throw, ended, unknown},
    });
}();

inline constexpr allot::detail::step_table<thread_state, event, thread_states, events> transition_table{transitions};
static_assert(!transition_table.is_ambiguous(), "allot: two transitions of one state and event");

/// Whether the event may come to a thread in this state.
constexpr bool is_legal(thread_state from, event by) noexcept { return detail::transition_table.is_legal(from, by); }
/// The state after the event; the same state if it is not legal.
constexpr thread_state after(thread_state from, event by) noexcept { return detail::transition_table.after(from, by); }

} // namespace detail
} // namespace oom
} // namespace allot::inline ALLOT_ABI
