// A mutex that readers share, and one thread may have alone. As std::shared_mutex, but a thread that waits to have it
// alone is not overtaken by new readers: with glibc's default, readers that come and go shut it out for good.
//
// Not recursive: a reader that locks it again may wait for ever. Cost: 56 bytes; an atomic addition per reader.
// Threads: any. Source: POSIX read-write locks.
#pragma once

#include <allot/config.hpp>

#include <cstdint>
#include <ctime>
#include <pthread.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

class shared_mutex {
  public:
    constexpr shared_mutex() noexcept = default;
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;

    void lock() noexcept { check(::pthread_rwlock_wrlock(&lock_)); }
    bool try_lock() noexcept { return ::pthread_rwlock_trywrlock(&lock_) == 0; }
    // Waits that long at most, and lets no new reader in meanwhile: readers that come and go hardly ever leave a moment
    // for try_lock(). Less than a second.
    bool try_lock_for(std::uint32_t nanoseconds) noexcept {
        if (try_lock()) return true;
        timespec end;
        ::clock_gettime(CLOCK_REALTIME, &end);
        end.tv_nsec += static_cast<long>(nanoseconds);
        end.tv_sec += end.tv_nsec / 1'000'000'000;
        end.tv_nsec %= 1'000'000'000;
        return ::pthread_rwlock_timedwrlock(&lock_, &end) == 0;
    }
    void unlock() noexcept { ::pthread_rwlock_unlock(&lock_); }
    void lock_shared() noexcept { check(::pthread_rwlock_rdlock(&lock_)); }
    bool try_lock_shared() noexcept { return ::pthread_rwlock_tryrdlock(&lock_) == 0; }
    void unlock_shared() noexcept { ::pthread_rwlock_unlock(&lock_); }

  private:
    static void check([[maybe_unused]] int error) noexcept {
        ALLOT_ASSERT(error == 0, "a thread has this lock already, in a view that lives: end it first");
    }

    pthread_rwlock_t lock_ = ALLOT_FAIR_RWLOCK;
};

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
