// Threads: a number that identifies a living thread, yield; the number of the process.
//
// The number is the hardware's thread pointer; a new thread may get the number of one that has ended.
// Cost: one instruction on x86-64 and aarch64; a system call for yield and for the process. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/fault.hpp>

#include <cstdint>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

inline std::uintptr_t thread_token() noexcept {
#if ALLOT_X86_64
    std::uintptr_t token;
    asm("mov %%fs:0, %0" : "=r"(token));
    return token;
#elif ALLOT_AARCH64
    std::uintptr_t token;
    asm("mrs %0, tpidr_el0" : "=r"(token));
    return token;
#else
    return reinterpret_cast<std::uintptr_t>(pthread_self());
#endif
}

inline void yield_thread() noexcept {
    if (fault::is_directed()) return fault::at_system_call();
    ::sched_yield();
}
// A child of fork() has another one.
inline std::uint64_t process_number() noexcept { return static_cast<std::uint64_t>(::getpid()); }

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
