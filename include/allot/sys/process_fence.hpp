// A full fence in every running thread of the process, from one of them: so that the others need none.
//
// Whoever writes and then reads without a fence (the many) is ordered against who writes, calls process_fence() and
// then reads (the few). Cost: a system call that interrupts the process's running threads, some microseconds; nothing
// for the others. False where the system has it not (before Linux 4.14, or forbidden): then the many must fence by
// themselves.
// Threads: any. Source: membarrier(2), private expedited, 2017.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/fault.hpp>

#include <sys/syscall.h>
#include <unistd.h>

namespace allot::inline ALLOT_ABI {
namespace sys {

// Once before the others; as often as one likes.
inline bool prepare_process_fence() noexcept {
    constexpr int register_private_expedited = 1 << 4;
    return !fault::strikes() && ::syscall(SYS_membarrier, register_private_expedited, 0, 0) == 0;
}
inline bool process_fence() noexcept {
    constexpr int private_expedited = 1 << 3;
    return !fault::strikes() && ::syscall(SYS_membarrier, private_expedited, 0, 0) == 0;
}

} // namespace sys
} // namespace allot::inline ALLOT_ABI
