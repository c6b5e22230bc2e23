// Lanes: threads that run the same code side by side and can exchange values, as the lanes of a warp do.
//
//     lanes::active()                  a mask of the lanes that are here now; the others come later, in other groups
//     lanes::match(group, key)         the lanes of the group that passed the same key
//     lanes::ballot(group, predicate)  the lanes of the group that passed true
//     lanes::shuffle(group, v, lane)   the value that this lane of the group passed
//     lanes::sync(group)               waits for all lanes of the group; each sees what the others wrote before
//
// Every lane of a group calls the same function with the same group; only `sync` orders memory. Models: a warp of a
// device (lanes_warp.hpp), a host thread as a warp of one lane (lone_lane, all inlined away), and 32 threads that
// simulate a warp in tests (lanes_simulated.hpp).
// Cost: lone_lane 0. Threads: one object per lane. Source: warp-level primitives, CUDA 9, 2017.
#pragma once

#include <allot/config.hpp>

#include <concepts>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

using lane_mask = std::uint32_t;

template <class L>
concept lanes = requires(L& l, lane_mask group, bool predicate, std::uint32_t small, std::uint64_t large) {
    { L::most } -> std::convertible_to<unsigned>;    // the lanes of a warp, at most
    { l.lane() } noexcept -> std::same_as<unsigned>; // the caller's, below `most`
    { l.active() } noexcept -> std::same_as<lane_mask>;
    { l.match(group, large) } noexcept -> std::same_as<lane_mask>;
    { l.ballot(group, predicate) } noexcept -> std::same_as<lane_mask>;
    { l.shuffle(group, small, 0U) } noexcept -> std::same_as<std::uint32_t>;
    { l.shuffle(group, large, 0U) } noexcept -> std::same_as<std::uint64_t>;
    { l.sync(group) } noexcept -> std::same_as<void>;
};

/// The number of lanes in a group.
ALLOT_HOST_DEVICE constexpr unsigned count_of(lane_mask group) noexcept {
#if ALLOT_DEVICE_PASS
    return static_cast<unsigned>(__popc(group));
#else
    return static_cast<unsigned>(__builtin_popcount(group));
#endif
}
/// The lowest lane of a group, which acts for all of it.
/// Requires: group is not 0.
ALLOT_HOST_DEVICE constexpr unsigned leader_of(lane_mask group) noexcept {
#if ALLOT_DEVICE_PASS
    return static_cast<unsigned>(__ffs(static_cast<int>(group))) - 1;
#else
    return static_cast<unsigned>(__builtin_ctz(group));
#endif
}
/// The number of lanes of the group below this one: the lane's index in the group, from 0.
ALLOT_HOST_DEVICE constexpr unsigned rank_in(lane_mask group, unsigned lane) noexcept {
    return count_of(group & ((lane_mask{1} << lane) - 1));
}

/// A single thread as a warp of one lane.
struct lone_lane {
    static constexpr unsigned most = 1;
    ALLOT_HOST_DEVICE static constexpr unsigned lane() noexcept { return 0; }
    ALLOT_HOST_DEVICE static constexpr lane_mask active() noexcept { return 1; }
    ALLOT_HOST_DEVICE static constexpr lane_mask match(lane_mask group, std::uint64_t) noexcept { return group; }
    ALLOT_HOST_DEVICE static constexpr lane_mask ballot(lane_mask group, bool predicate) noexcept {
        return predicate ? group : 0;
    }
    template <class T> ALLOT_HOST_DEVICE static constexpr T shuffle(lane_mask, T value, unsigned) noexcept {
        return value;
    }
    ALLOT_HOST_DEVICE static constexpr void sync(lane_mask) noexcept {}
};
static_assert(lanes<lone_lane>);

} // namespace allot::inline ALLOT_ABI
