// owner_entry: lets one thread, the owner, into data without an atomic read-modify-write, and others by a fence of all
// threads.
//
//   owner:   enter()  |  work  |  leave()
//   others:  block_owner()  |  sys::process_fence()  |  wait_for_owner()  |  work  |  unblock_owner()
//
// One of the others at a time, which the caller ensures. The owner never waits: enter() returns false while it is
// blocked. An owner that has another way to see that it is blocked writes begin() in place of enter().
// Invariant: at most one thread is between enter() and leave(), or between wait_for_owner() and unblock_owner().
// Cost: two bytes; two stores and a load for the owner; a locked operation more where the system has no fence of all
// threads. Threads: as above.
// Source: biased locks with a fence on the other side, Dice 2003; membarrier(2), 2017.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sys/fork_gate.hpp>
#include <allot/sys/process_fence.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class owner_entry {
  public:
    constexpr owner_entry() noexcept = default;
    // Call once before the first use.
    void set_up(bool fences = !sys::prepare_process_fence()) noexcept { fences_ = fences; }
    // True if the owner must fence in enter(), and may not use begin(): the system has no fence of all threads.
    bool fences() const noexcept { return fences_; }

    ALLOT_ALWAYS_INLINE void begin() noexcept {
        sys::enter_section();
        inside_.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ALLOT_ALWAYS_INLINE bool enter() noexcept {
        begin();
        if (ALLOT_UNLIKELY(fences_)) full_fence();
        if (ALLOT_LIKELY(!is_blocked())) return true;
        leave();
        return false;
    }
    ALLOT_ALWAYS_INLINE void leave() noexcept {
        inside_.store(0, std::memory_order_release);
        sys::leave_section();
    }

    bool is_blocked() const noexcept { return blocked_.load(std::memory_order_acquire) != 0; }
    void block_owner() noexcept { blocked_.store(1, std::memory_order_relaxed); }
    void wait_for_owner() const noexcept {
        while (inside_.load(std::memory_order_acquire) != 0) yield();
    }
    void unblock_owner() noexcept { blocked_.store(0, std::memory_order_release); }

  private:
    // Not bool: libstdc++ always inlines the functions of atomic integers, and not those of atomic<bool>.
    std::atomic<std::uint8_t> inside_{0};
    std::atomic<std::uint8_t> blocked_{0};
    bool fences_ = false; // constant after set_up()
};

// The entry of data that only its owner uses.
struct no_entry {
    static constexpr bool fences() noexcept { return false; }
    static constexpr void begin() noexcept {}
    static constexpr bool enter() noexcept { return true; }
    static constexpr void leave() noexcept {}
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
