// A counter that lanes count up together: one atomic operation for all that come at once, and each has a number of its
// own.
//
// Lanes may have different counters at the same moment: those of one counter are a group. Invariant: numbers are unique
// and without gaps; within a group they ascend with the lanes. Cost: 1 atomic a group, a match and a shuffle a lane;
// for a lone lane the atomic alone. Threads: those of the scope.
// Source: warp-aggregated atomics, Adinetz 2014; by match: CUDA 9, 2017.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/lanes.hpp>
#include <allot/sync/scoped_atomic.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// The counter's value before this lane counted.
template <thread_scope Scope, lanes Lanes, atomic_word T>
ALLOT_HOST_DEVICE T aggregated_bump(Lanes& lanes, T& counter, ordered order = ordered::relaxed) noexcept {
    const lane_mask group = lanes.match(lanes.active(), reinterpret_cast<std::uintptr_t>(&counter));
    const unsigned leader = leader_of(group);
    T first = 0;
    if (lanes.lane() == leader) first = scoped<Scope>(counter).fetch_add(static_cast<T>(count_of(group)), order);
    first = lanes.from(group, first, leader);
    return static_cast<T>(first + static_cast<T>(rank_in(group, lanes.lane())));
}

} // namespace allot::inline ALLOT_ABI
