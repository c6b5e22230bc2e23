// Lanes: threads that go through code side by side and can ask each other, as those of a warp do.
//
//     lanes::active()              a bit for each lane that is here now; who else comes, comes later, in a group of its
//     own lanes::match(group, key)     those of the group whose key is mine lanes::ballot(group, said)   those of the
//     group that said true lanes::from(group, v, lane)  the value of that lane of the group lanes::together(group) all
//     of the group came here, and see what each of them wrote before
//
// Every lane of a group calls the same function with the same group; only `together` orders memory. Code that is
// written over the concept serves a warp on a device (lanes_warp.hpp), a thread on the host, which is a warp of one
// (here: all of it folds away), and 32 threads that play a warp, in tests (lanes_simulated.hpp).
// Cost: lone_lane 0. Threads: one object a lane. Source: warp-level primitives, CUDA 9, 2017.
#pragma once

#include <allot/config.hpp>

#include <concepts>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

using lane_mask = std::uint32_t;

template <class L>
concept lanes = requires(L& l, lane_mask group, bool said, std::uint32_t small, std::uint64_t large) {
    { L::most } -> std::convertible_to<unsigned>;    // lanes of a warp
    { l.lane() } noexcept -> std::same_as<unsigned>; // mine, below `most`
    { l.active() } noexcept -> std::same_as<lane_mask>;
    { l.match(group, large) } noexcept -> std::same_as<lane_mask>;
    { l.ballot(group, said) } noexcept -> std::same_as<lane_mask>;
    { l.from(group, small, 0U) } noexcept -> std::same_as<std::uint32_t>;
    { l.from(group, large, 0U) } noexcept -> std::same_as<std::uint64_t>;
    { l.together(group) } noexcept -> std::same_as<void>;
};

ALLOT_HOST_DEVICE constexpr unsigned count_of(lane_mask group) noexcept {
#if ALLOT_DEVICE_PASS
    return static_cast<unsigned>(__popc(group));
#else
    return static_cast<unsigned>(__builtin_popcount(group));
#endif
}
/// The lowest lane of a group that is not empty: who acts for all.
ALLOT_HOST_DEVICE constexpr unsigned leader_of(lane_mask group) noexcept {
#if ALLOT_DEVICE_PASS
    return static_cast<unsigned>(__ffs(static_cast<int>(group))) - 1;
#else
    return static_cast<unsigned>(__builtin_ctz(group));
#endif
}
/// How many lanes of the group are below this one: numbers them from 0.
ALLOT_HOST_DEVICE constexpr unsigned rank_in(lane_mask group, unsigned lane) noexcept {
    return count_of(group & ((lane_mask{1} << lane) - 1));
}

/// A thread alone.
struct lone_lane {
    static constexpr unsigned most = 1;
    ALLOT_HOST_DEVICE static constexpr unsigned lane() noexcept { return 0; }
    ALLOT_HOST_DEVICE static constexpr lane_mask active() noexcept { return 1; }
    ALLOT_HOST_DEVICE static constexpr lane_mask match(lane_mask group, std::uint64_t) noexcept { return group; }
    ALLOT_HOST_DEVICE static constexpr lane_mask ballot(lane_mask group, bool said) noexcept {
        return said ? group : 0;
    }
    template <class T> ALLOT_HOST_DEVICE static constexpr T from(lane_mask, T value, unsigned) noexcept {
        return value;
    }
    ALLOT_HOST_DEVICE static constexpr void together(lane_mask) noexcept {}
};
static_assert(lanes<lone_lane>);

} // namespace allot::inline ALLOT_ABI
