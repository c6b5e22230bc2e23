// lock_guard: holds a lock for a scope, as std::lock_guard does, without <mutex> (37,000 lines to compile).
//
// Cost: the lock's. Threads: those of the lock.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct adopt_lock_t {};
inline constexpr adopt_lock_t adopt_lock{}; // the caller already holds the lock

template <class Lock> class [[nodiscard]] lock_guard {
  public:
    ALLOT_ALWAYS_INLINE explicit lock_guard(Lock& lock) noexcept(noexcept(lock.lock())) : lock_(lock) { lock_.lock(); }
    ALLOT_ALWAYS_INLINE lock_guard(Lock& lock, adopt_lock_t) noexcept : lock_(lock) {}
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;
    ALLOT_ALWAYS_INLINE ~lock_guard() { lock_.unlock(); }

  private:
    Lock& lock_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
