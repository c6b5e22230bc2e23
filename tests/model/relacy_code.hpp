// Relacy under the library's own code: the headers that follow this one run with relacy's atomics in the place of
// std::atomic, and where they yield another simulated thread runs.
//
//     #include "relacy_code.hpp"
//     #include <allot/ledger/account.hpp>      the header that is shipped
//
// Every header of the standard library that they use is included here first, since `atomic` is a macro after it.
// Limits: atomics live for one run, so objects are made in before() and end in after(). Mutexes are the system's, so
// only before() and after() may take one. All simulated threads have the same sys::thread_token().
#pragma once

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
#include <exception>
#include <limits>
#include <linux/futex.h>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <type_traits>
#include <unistd.h>
#include <utility>

#include "relacy_common.hpp"

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

// A futex sleeps while others run: its caller looks again.
template <class... Ignored> long relacy_syscall(Ignored...) { return rl::yield(1, $), 0; }
#define syscall relacy_syscall
