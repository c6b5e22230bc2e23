// The lanes of a warp on a device: one or two instructions per function. Empty unless nvcc compiles.
//
// Call it in device code only. The host versions let shared code compile, and trap when they run.
// Cost: 0 bytes. Threads: those of a warp. Source: CUDA 9, 2017; match needs sm_70.
#pragma once

#include <allot/config.hpp>
#include <allot/kernel/lanes.hpp>

namespace allot::inline ALLOT_ABI {

#if ALLOT_CUDA
/// The caller's lane in its warp. Models `lanes`.
struct warp {
    static constexpr unsigned most = 32;

#if ALLOT_DEVICE_PASS
    ALLOT_HOST_DEVICE static unsigned lane() noexcept {
        unsigned mine;
        asm("mov.u32 %0, %%laneid;" : "=r"(mine));
        return mine;
    }
    ALLOT_HOST_DEVICE static lane_mask active() noexcept { return __activemask(); }
    ALLOT_HOST_DEVICE static lane_mask match(lane_mask group, std::uint64_t key) noexcept {
        return __match_any_sync(group, static_cast<unsigned long long>(key));
    }
    ALLOT_HOST_DEVICE static lane_mask ballot(lane_mask group, bool predicate) noexcept {
        return __ballot_sync(group, predicate);
    }
    template <class T> ALLOT_HOST_DEVICE static T shuffle(lane_mask group, T value, unsigned lane) noexcept {
        return __shfl_sync(group, value, static_cast<int>(lane));
    }
    ALLOT_HOST_DEVICE static void sync(lane_mask group) noexcept { __syncwarp(group); }
#else
    ALLOT_HOST_DEVICE static unsigned lane() noexcept { return __builtin_trap(), 0; }
    ALLOT_HOST_DEVICE static lane_mask active() noexcept { return __builtin_trap(), 0; }
    ALLOT_HOST_DEVICE static lane_mask match(lane_mask, std::uint64_t) noexcept { return __builtin_trap(), 0; }
    ALLOT_HOST_DEVICE static lane_mask ballot(lane_mask, bool) noexcept { return __builtin_trap(), 0; }
    template <class T> ALLOT_HOST_DEVICE static T shuffle(lane_mask, T value, unsigned) noexcept {
        return __builtin_trap(), value;
    }
    ALLOT_HOST_DEVICE static void sync(lane_mask) noexcept { __builtin_trap(); }
#endif
};
static_assert(lanes<warp>);
#endif

} // namespace allot::inline ALLOT_ABI
