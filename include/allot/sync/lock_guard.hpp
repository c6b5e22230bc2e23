// lock_guard: holds a lock for a scope. std::lock_guard without <mutex>, which is 37,000 lines to compile.
//
// Cost: none beyond the lock's. Threads: as the lock.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct adopt_lock_t {};
inline constexpr adopt_lock_t adopt_lock{}; // the caller holds the lock already
struct try_to_lock_t {};
inline constexpr try_to_lock_t try_to_lock{}; // take the lock only if it is free

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
