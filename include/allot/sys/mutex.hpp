// A mutex of the system, whose waiters sleep: for sections that visit much or call out. std::mutex without <mutex>.
//
// Not recursive. Cost: 40 bytes; one atomic exchange without a waiter. Threads: any.
#pragma once

#include <allot/config.hpp>

#include <pthread.h>

namespace allot::inline ALLOT_ABI {
namespace sys {

class mutex {
  public:
    mutex() = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    // Without error checks: a default mutex that is used so has none to report.
    void lock() noexcept { ::pthread_mutex_lock(&mutex_); }
    bool try_lock() noexcept { return ::pthread_mutex_trylock(&mutex_) == 0; }
    void unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

  private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

} // namespace sys
} // namespace allot::inline ALLOT_ABI
