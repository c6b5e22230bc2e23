// The thread that an object of one thread belongs to: the first one that uses it. Empty, without code, in unchecked
// builds.
//
// Threads: any. Cost in checked builds: 8 bytes; one load per use.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

#if ALLOT_CHECKED
class thread_owner {
  public:
    // Makes the caller the owner if there is none. False: another thread is the owner.
    bool claim_or_check() noexcept {
        const std::uintptr_t now = sys::thread_token();
        std::uintptr_t owner = 0;
        return owner_.load(std::memory_order_relaxed) == now ||
               owner_.compare_exchange_strong(owner, now, std::memory_order_relaxed);
    }

  private:
    std::atomic<std::uintptr_t> owner_{0};
};
#else
class thread_owner {
  public:
    constexpr bool claim_or_check() const noexcept { return true; }
};
#endif

} // namespace detail
} // namespace allot::inline ALLOT_ABI
