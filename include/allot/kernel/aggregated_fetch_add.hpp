// A counter that the lanes of a warp increment together: one atomic operation per group of lanes, a distinct number per
// lane.
//
// Lanes that are active at the same time may pass different counters; the lanes with one counter are a group.
// Invariant: numbers are unique and without gaps; within a group they ascend with the lane.
// Cost: per group 1 atomic operation; per lane one match and one shuffle; for lone_lane the atomic operation alone.
// Threads: those of Scope. Source: warp-aggregated atomics, Adinetz 2014; with match: CUDA 9, 2017.
#pragma once

#include <allot/config.hpp>
#include <allot/kernel/lanes.hpp>
#include <allot/kernel/scoped_atomic.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// Adds 1 to `counter` for this lane.
/// Returns: the value before this lane's increment.
/// Threads: those of Scope.
template <thread_scope Scope, lanes Lanes, detail::atomic_word T>
ALLOT_HOST_DEVICE T aggregated_fetch_add(Lanes& lanes, T& counter, ordered order = ordered::relaxed) noexcept {
    const lane_mask group = lanes.match(lanes.active(), reinterpret_cast<std::uintptr_t>(&counter));
    const unsigned leader = leader_of(group);
    T first = 0;
    if (lanes.lane() == leader) first = scoped<Scope>(counter).fetch_add(static_cast<T>(count_of(group)), order);
    first = lanes.shuffle(group, first, leader);
    return static_cast<T>(first + static_cast<T>(rank_in(group, lanes.lane())));
}

} // namespace allot::inline ALLOT_ABI
