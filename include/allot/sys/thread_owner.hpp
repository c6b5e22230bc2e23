// Whose something is that one thread uses: of who used it first. Checked builds only, no code and no bytes otherwise.
//
// Threads: any; is_mine() tells a second one. Cost where it is there: 8 bytes, a load a use.
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
    bool is_mine() noexcept {
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
    constexpr bool is_mine() const noexcept { return true; }
};
#endif

} // namespace detail
} // namespace allot::inline ALLOT_ABI
