// What a waiting thread does: tell the processor for a moment, or let another thread run.
#pragma once

#include <allot/config.hpp>

#include <thread>

namespace allot::inline ALLOT_ABI {

// A few dozen cycles.
inline void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}
// To the scheduler.
inline void yield() noexcept { std::this_thread::yield(); }

} // namespace allot::inline ALLOT_ABI
