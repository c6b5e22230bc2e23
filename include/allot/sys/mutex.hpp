// A mutex whose waiters sleep, for long critical sections and for those with callbacks. As std::mutex, without <mutex>.
//
// Not recursive. Cost: 40 bytes (48 in checked builds); one atomic exchange when no thread waits. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/fork_gate.hpp>
#include <allot/sys/lock_rank.hpp>

#include <pthread.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

class mutex {
  public:
    constexpr explicit mutex(lock_rank rank) noexcept : order_(rank) {}
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    // The result is ignored: a default mutex that is used correctly reports no error.
    void lock() noexcept {
        order_.waits();
        enter_section();
        ::pthread_mutex_lock(&mutex_);
        order_.locked();
    }
    bool try_lock() noexcept {
        enter_section();
        const bool took = ::pthread_mutex_trylock(&mutex_) == 0;
        if (took) order_.locked();
        else leave_section();
        return took;
    }
    void unlock() noexcept {
        order_.unlocked();
        ::pthread_mutex_unlock(&mutex_);
        leave_section();
    }

  private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    ALLOT_NO_UNIQUE_ADDRESS allot::detail::lock_order order_;
};

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
