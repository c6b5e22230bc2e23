// Relacy under the library's own code: the headers that follow this one run with relacy's atomics in the place of
// std::atomic, and where they yield another simulated thread runs.
//
//     #include "relacy_code.hpp"
//     #include <allot/account/account.hpp>      the header that is shipped
//
// Every header of the standard library that they use is included here first, since `atomic` is a macro after it.
// A mutex is relacy's, too. Each simulated thread has its own thread_local variables, except those that templates
// declare, and may throw.
// Limits: atomics and mutexes live for one run, so objects are made in before() and end in after(), or earlier. All
// simulated threads have the same sys::thread_token().
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <bit>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cxxabi.h>
#include <deque>
#include <exception>
#include <limits>
#include <linux/futex.h>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <pthread.h>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

#include <relacy/platform.hpp>

// Bounds of the section that has all thread_local variables: those of the simulated thread that runs.
extern "C" char __start_model_locals[] __attribute__((weak)), __stop_model_locals[] __attribute__((weak));

namespace model {

// The variables of a simulated thread, and the exceptions that it handles, while others run: from construction to
// destruction.
class kept_locals {
  public:
    kept_locals() : at_(section()), exceptions_(*handled_) {
        std::memcpy(kept_, at_, bytes());
        std::memcpy(at_, initial.data(), bytes());
        *handled_ = {};
    }
    kept_locals(const kept_locals&) = delete;
    kept_locals& operator=(const kept_locals&) = delete;
    ~kept_locals() {
        std::memcpy(at_, kept_, bytes());
        *handled_ = exceptions_;
    }

  private:
    struct exceptions { // the head of abi::__cxa_eh_globals
        void* caught = nullptr;
        unsigned uncaught = 0;
    };
    // Hidden from the compiler: the copies change variables that it knows by their names.
    static char* section() {
        char* at = __start_model_locals;
        asm volatile("" : "+r"(at) : : "memory");
        return at;
    }
    static std::size_t bytes() { return static_cast<std::size_t>(__stop_model_locals - __start_model_locals); }

    static constexpr std::size_t most = 1024;
    static inline const std::vector<char> initial = [] {
        if (bytes() > most) std::abort();
        return std::vector<char>(section(), section() + bytes());
    }();
    static inline exceptions* const handled_ = reinterpret_cast<exceptions*>(abi::__cxa_get_globals());

    char* const at_;
    const exceptions exceptions_;
    char kept_[most];
};

} // namespace model

inline void switch_with_locals(fiber_t& to, fiber_t& from) {
    const model::kept_locals mine;
    switch_to_fiber(to, from);
}
#define switch_to_fiber switch_with_locals
#include "relacy_common.hpp"
#undef switch_to_fiber

#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef pthread_mutex_t
#undef pthread_mutex_lock
#undef pthread_mutex_unlock

namespace model {

constexpr rl::memory_order order_of(std::memory_order order) {
    switch (order) {
    case std::memory_order_relaxed: return mo_relaxed;
    case std::memory_order_consume:
    case std::memory_order_acquire: return mo_acquire;
    case std::memory_order_release: return mo_release;
    case std::memory_order_acq_rel: return mo_acq_rel;
    default: return mo_seq_cst;
    }
}
// Of one order, as the language has it: no failure releases.
constexpr rl::memory_order failure_of(std::memory_order order) {
    return order == std::memory_order_release   ? mo_relaxed
           : order == std::memory_order_acq_rel ? mo_acquire
                                                : order_of(order);
}
template <class T> struct stored {
    using type = T;
};
template <class T>
    requires std::is_enum_v<T>
struct stored<T> : std::underlying_type<T> {};

// std::atomic's interface, as far as the headers use it.
template <class T> class atomic_of {
    using kept = typename stored<T>::type; // relacy prints values

  public:
    atomic_of() : atomic_of(T{}) {}
    atomic_of(T value) { value_.store(static_cast<kept>(value), mo_relaxed, $); }
    T load(std::memory_order order) const { return static_cast<T>(value_.load(order_of(order), $)); }
    void store(T value, std::memory_order order) { value_.store(static_cast<kept>(value), order_of(order), $); }
    T exchange(T value, std::memory_order order) {
        return static_cast<T>(value_.exchange(static_cast<kept>(value), order_of(order), $));
    }
    T fetch_add(T value, std::memory_order order) { return value_.fetch_add(value, order_of(order), $); }
    T fetch_sub(T value, std::memory_order order) { return value_.fetch_sub(value, order_of(order), $); }
    T fetch_or(T value, std::memory_order order) { return value_.fetch_or(value, order_of(order), $); }
    bool compare_exchange_weak(T& was, T value, std::memory_order order, std::memory_order failure) {
        return value_.compare_exchange_weak(was, value, order_of(order), $, order_of(failure), $);
    }
    bool compare_exchange_weak(T& was, T value, std::memory_order order) {
        return value_.compare_exchange_weak(was, value, order_of(order), $, failure_of(order), $);
    }
    bool compare_exchange_strong(T& was, T value, std::memory_order order) {
        return value_.compare_exchange_strong(was, value, order_of(order), $, failure_of(order), $);
    }

    void wait(T was, std::memory_order order) const {
        while (load(order) == was) rl::yield(1, $);
    }
    void notify_all() {}

  private:
    rl::atomic<kept> value_;
};

} // namespace model

namespace std {
template <class T> using relacy_atomic = model::atomic_of<T>;
inline void relacy_fence(memory_order order) { rl::atomic_thread_fence(model::order_of(order), $); }
} // namespace std
#define atomic relacy_atomic
#define atomic_thread_fence relacy_fence

// Relacy replaces new, and delete without a size.
void operator delete(void* p, std::size_t) noexcept { ::operator delete(p); }

#define thread_local __attribute__((section("model_locals")))

namespace model {

// In the place of pthread_mutex_t. One that is a constant is not made, and must not be locked.
class mutex {
  public:
    constexpr mutex() {
        if (!std::is_constant_evaluated()) data_ = rl::ctx().mutex_ctor(false, false, false, false);
    }
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    constexpr ~mutex() {
        if (data_ != nullptr) rl::ctx().mutex_dtor(data_);
    }
    rl::generic_mutex_data* operator->() const { return data_; }

  private:
    rl::generic_mutex_data* data_ = nullptr;
};

} // namespace model

inline void relacy_mutex_lock(model::mutex* m) { (*m)->lock_exclusive(false, $); }
inline int relacy_mutex_trylock(model::mutex* m) { return (*m)->try_lock_exclusive($) ? 0 : EBUSY; }
inline void relacy_mutex_unlock(model::mutex* m) { (*m)->unlock_exclusive($); }
#define pthread_mutex_t model::mutex
#define pthread_mutex_lock relacy_mutex_lock
#define pthread_mutex_trylock relacy_mutex_trylock
#define pthread_mutex_unlock relacy_mutex_unlock
#undef PTHREAD_MUTEX_INITIALIZER
#define PTHREAD_MUTEX_INITIALIZER                                                                                      \
    {                                                                                                                  \
    }

// A futex sleeps while others run: its caller looks again.
template <class... Ignored> long relacy_syscall(Ignored...) { return rl::yield(1, $), 0; }
#define syscall relacy_syscall
