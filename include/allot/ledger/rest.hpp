// Whether an object rests: it had no idle memory when it was asked last, and has got none since. It is not asked then.
//
//     r.begin();            // a call: what becomes idle from here on wakes the object
//     ... look everywhere ...
//     r.end(found);         // it rests, if no call found something, and nothing woke it
//
// Invariant: an object that rests has nothing idle, and no call takes anything from it. Cost: 4 bytes; a load per
// change. Threads: any, several calls at once.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/full_fence.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class rest {
    static constexpr std::uint32_t asleep = 1, call = 2;

  public:
    bool rests() const noexcept { return state_.load(std::memory_order_acquire) == asleep; }
    void begin() noexcept {
        state_.fetch_add(call, std::memory_order_relaxed);
        state_.fetch_or(asleep, std::memory_order_relaxed);
        full_fence(); // who does not see it has changed the object before
    }
    void end(bool found) noexcept {
        if (found) state_.fetch_and(~asleep, std::memory_order_relaxed);
        state_.fetch_sub(call, std::memory_order_release);
    }
    // The object has something idle, or may have. Call behind a full fence; under any lock.
    ALLOT_ALWAYS_INLINE void wake() noexcept {
        if (ALLOT_UNLIKELY((state_.load(std::memory_order_relaxed) & asleep) != 0)) wake_up();
    }

  private:
    ALLOT_NOINLINE void wake_up() noexcept {
        state_.fetch_and(~asleep, std::memory_order_relaxed);
        full_fence(); // before the caller looks whether requests wait
    }
    std::atomic<std::uint32_t> state_{0}; // calls, and whether nothing has become idle since the last one began
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
