// Steps of a waiting thread: pause() relaxes the processor for a moment, yield() lets another thread run.
#pragma once

#include <allot/config.hpp>

#include <allot/sys/thread.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Waits for a few dozen cycles; a hint that this is a spin loop.
inline void pause() noexcept {
#if ALLOT_X86_64
    __builtin_ia32_pause();
#elif ALLOT_AARCH64
    asm volatile("isb");
#endif
}
inline void yield() noexcept { sys::yield_thread(); }

} // namespace detail
} // namespace allot::inline ALLOT_ABI
