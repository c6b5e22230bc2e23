// A mutex whose waiters sleep, for long critical sections and for those with callbacks. As std::mutex, without <mutex>.
//
// Not recursive. Cost: 40 bytes; one atomic exchange when no thread waits. Threads: any.
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

    // The result is ignored: a default mutex that is used correctly reports no error.
    void lock() noexcept { ::pthread_mutex_lock(&mutex_); }
    bool try_lock() noexcept { return ::pthread_mutex_trylock(&mutex_) == 0; }
    void unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

  private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

} // namespace sys
} // namespace allot::inline ALLOT_ABI
