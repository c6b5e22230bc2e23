// What a waiting thread does: tell the processor for a moment, or let another thread run.
#pragma once

#include <allot/config.hpp>

#include <allot/sys/thread.hpp>

namespace allot::inline ALLOT_ABI {

// A few dozen cycles.
inline void pause() noexcept {
#if ALLOT_X86_64
    __builtin_ia32_pause();
#elif ALLOT_AARCH64
    asm volatile("isb");
#endif
}
// To the scheduler.
inline void yield() noexcept { sys::yield_thread(); }

} // namespace allot::inline ALLOT_ABI
