// Threads: a number that identifies a living thread, yield.
//
// The number is the hardware's thread pointer; a new thread may get the number of one that has ended.
// Cost: one instruction on x86-64 and aarch64. Threads: any.
#pragma once

#include <allot/config.hpp>

#include <cstdint>
#include <pthread.h>
#include <sched.h>

namespace allot::inline ALLOT_ABI {
namespace sys {

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

inline void yield_thread() noexcept { ::sched_yield(); }

} // namespace sys
} // namespace allot::inline ALLOT_ABI
