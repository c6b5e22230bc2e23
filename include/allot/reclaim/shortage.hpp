// A shortage: a request that a limit refused, as reclaimers see it. On the stack of the request.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

struct shortage {
    charge_status why{};                  ///< what refused the last attempt, and its numbers
    std::uint32_t most_cost = UINT32_MAX; ///< reclaimers of a higher cost are not called
    bool critical = false;                ///< the second pass: the first one freed too little
    bool waits = false;                   ///< the request waits: a call may wait for a device's work

    /// Bytes that must become free where the request was refused. Other requests may free or take some meanwhile.
    std::size_t missing() const noexcept {
        const std::size_t free = why.limit > why.used ? why.limit - why.used : 0;
        return why.requested > free ? why.requested - free : 0;
    }
};

} // namespace allot::inline ALLOT_ABI
