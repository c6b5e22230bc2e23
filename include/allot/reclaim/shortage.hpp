// A shortage: a request that a limit refused, as reclaimers see it. On the stack of the request.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

struct shortage {
    charge_status why{};                     ///< what refused the last attempt, and its numbers
    std::uint32_t most_cost = UINT32_MAX;    ///< reclaimers of a higher cost are not called
    bool critical = false;                   ///< the second pass: the first one freed too little
    bool waits = false;                      ///< the request waits: a call may wait for a device's work
    std::size_t coming = 0;                  ///< bytes that other reclaimers have announced, if the request may wait
    std::size_t owed = 0;                    ///< bytes that go first to accounts which have reserved them
    const account* requester = nullptr;      ///< whose request it is; of a queued reservation: who refuses it
    std::uint32_t task = UINT32_MAX;         ///< oom::task::id() of its thread, at the arbiter of its root; else this
    bool ahead = false;                      ///< of a watermark, which is `why.limit`: nothing was refused
    unsigned in_vain = 0;                    ///< passes of the request after which others had taken what was freed
    void (*leave)(void*) noexcept = nullptr; // of the sweep that calls
    void* sweep = nullptr;

    /// For a call that now takes its time, as to write a file: from here on requests of other threads are served
    /// meanwhile, and another thread may call the same reclaimer. comes() says before what the call will free.
    void let_others_go_on() const noexcept {
        if (leave != nullptr) leave(sweep);
    }

    /// Bytes that must become free where the request was refused, with those by which a lowered limit is exceeded,
    /// and with those that are owed; without those that are coming. Other requests may free or take some meanwhile. Of
    /// an arena whose free pages are in pieces, and where the system or a device has no memory: those requested.
    std::size_t missing() const noexcept {
        if (why.outcome == charge_outcome::no_address_space) return why.requested;
        if (why.outcome == charge_outcome::no_memory) return why.requested > coming ? why.requested - coming : 0;
        const std::size_t used = why.used + owed;
        if (used <= why.limit && why.requested <= why.limit - used) return 0;
        const std::size_t needed = why.requested < SIZE_MAX - used ? why.requested + used : SIZE_MAX;
        return needed - why.limit > coming ? needed - why.limit - coming : 0;
    }
};

} // namespace allot::inline ALLOT_ABI
