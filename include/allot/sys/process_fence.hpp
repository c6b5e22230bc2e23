// A full fence in every running thread of the process, issued by one thread, so that the others need none.
//
// A thread that writes and then reads without a fence (the frequent side) is ordered against a thread that writes,
// calls process_fence() and then reads (the rare side). Calls return false where the system lacks membarrier (before
// Linux 4.14, or forbidden): then the frequent side must fence.
// Cost: a system call of some microseconds that interrupts the running threads; nothing for the frequent side.
// Threads: any. Source: membarrier(2), private expedited, 2017.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/fault.hpp>

#include <sys/syscall.h>
#include <unistd.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

// Call it before the first process_fence(); further calls have no effect.
inline bool prepare_process_fence() noexcept {
    constexpr int register_private_expedited = 1 << 4;
    return !fault::should_fail() && ::syscall(SYS_membarrier, register_private_expedited, 0, 0) == 0;
}
inline bool process_fence() noexcept {
    constexpr int private_expedited = 1 << 3;
    return !fault::should_fail() && ::syscall(SYS_membarrier, private_expedited, 0, 0) == 0;
}

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
