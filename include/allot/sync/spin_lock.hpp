// A lock for critical sections of a few dozen instructions without system calls or callbacks.
//
// It spins a bounded number of times, then yields the processor between attempts: a preempted owner costs its waiters
// a time slice, not a core. Not recursive. Cost: 4 bytes; one exchange to lock, one store to unlock.
// Threads: any; never held across a system call or a callback.
// Source: test-and-test-and-set, Rudolph and Segall 1984.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sys/fork_gate.hpp>
#include <allot/sys/lock_rank.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <lock_rank Rank> class basic_spin_lock {
  public:
    basic_spin_lock() = default;
    basic_spin_lock(const basic_spin_lock&) = delete;
    basic_spin_lock& operator=(const basic_spin_lock&) = delete;

    // Always inline, so that a path's instructions do not depend on the rest of the program.
    ALLOT_ALWAYS_INLINE void lock() noexcept {
        order().waits();
        sys::enter_section();
        if (ALLOT_LIKELY(take())) return;
        wait();
    }
    ALLOT_ALWAYS_INLINE bool try_lock() noexcept {
        sys::enter_section();
        const bool took = take();
        if (!took) sys::leave_section();
        return took;
    }
    void unlock() noexcept {
        order().unlocked();
        held_.store(0, std::memory_order_release);
        sys::leave_section();
    }

  private:
    ALLOT_ALWAYS_INLINE bool take() noexcept {
        const bool took =
            held_.load(std::memory_order_relaxed) == 0 && held_.exchange(1, std::memory_order_acquire) == 0;
        if (took) order().locked();
        return took;
    }
    static constexpr detail::lock_order order() noexcept { return detail::lock_order{Rank}; }
    ALLOT_COLD void wait() noexcept {
        for (unsigned spins = 0; !take(); ++spins) {
            if (spins < 64) pause();
            else yield();
        }
    }
    std::atomic<std::uint32_t> held_{0};
};
using spin_lock = basic_spin_lock<lock_rank::leaf>;

} // namespace detail
} // namespace allot::inline ALLOT_ABI
