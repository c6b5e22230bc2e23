// Atomic operations on a plain word, on the host and on a device, seen by as many threads as the scope says.
//
//     std::uint64_t word = 0;                                                  // needs no type of its own
//     if ((scoped<thread_scope::device>(word).fetch_or(bit, ordered::acquire) & bit) == 0) ...
//
// Words are integers of 4 or 8 bytes. On the host these are __atomic builtins, on a device nvcc's __nv_atomic builtins:
// no header of libcu++, which costs seconds a translation unit. nvcc wants order and scope as literals where they are
// used, so each operation is a switch that is gone once it is inlined: give the order as a constant.
// thread_scope::thread: nobody else looks, so these are plain loads and stores. A host has one scope for all others.
// Orders as in C++: loads take relaxed, acquire, seq_cst, stores relaxed, release, seq_cst; a device takes another for
// seq_cst. Cost: one instruction where the machine has one; min and max are a loop on the host.
// Threads: those of the scope. Source: scopes, CUDA 9 and PTX 6.0, 2017; std::atomic_ref, C++20.
#pragma once

#include <allot/config.hpp>

#include <concepts>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// Who sees an operation as atomic.
enum class thread_scope { thread, block, device, system };

enum class ordered : int {
    relaxed = __ATOMIC_RELAXED,
    acquire = __ATOMIC_ACQUIRE,
    release = __ATOMIC_RELEASE,
    acq_rel = __ATOMIC_ACQ_REL,
    seq_cst = __ATOMIC_SEQ_CST
};

template <class T>
concept atomic_word = std::integral<T> && !std::same_as<T, bool> && (sizeof(T) == 4 || sizeof(T) == 8);

// ALLOT_ATOMIC(ORDERS, name, arguments...): returns what the builtin of this name does; the orders that it may have are
// LOADS, STORES, ANY or PAIRS (and what it has where it fails).
#if ALLOT_DEVICE_PASS
#define ALLOT_NV(name, s, o, ...) __nv_atomic_##name(__VA_ARGS__, __NV_ATOMIC_##o, __NV_THREAD_SCOPE_##s)
#define ALLOT_NV2(name, s, o, p, ...)                                                                                  \
    __nv_atomic_##name(__VA_ARGS__, __NV_ATOMIC_##o, __NV_ATOMIC_##p, __NV_THREAD_SCOPE_##s)
#define ALLOT_NV_LOADS(name, s, ...)                                                                                   \
    switch (order) {                                                                                                   \
    case ordered::relaxed: return ALLOT_NV(name, s, RELAXED, __VA_ARGS__);                                             \
    case ordered::acquire: return ALLOT_NV(name, s, ACQUIRE, __VA_ARGS__);                                             \
    default: return ALLOT_NV(name, s, SEQ_CST, __VA_ARGS__);                                                           \
    }
#define ALLOT_NV_STORES(name, s, ...)                                                                                  \
    switch (order) {                                                                                                   \
    case ordered::relaxed: return ALLOT_NV(name, s, RELAXED, __VA_ARGS__);                                             \
    case ordered::release: return ALLOT_NV(name, s, RELEASE, __VA_ARGS__);                                             \
    default: return ALLOT_NV(name, s, SEQ_CST, __VA_ARGS__);                                                           \
    }
#define ALLOT_NV_ANY(name, s, ...)                                                                                     \
    switch (order) {                                                                                                   \
    case ordered::relaxed: return ALLOT_NV(name, s, RELAXED, __VA_ARGS__);                                             \
    case ordered::acquire: return ALLOT_NV(name, s, ACQUIRE, __VA_ARGS__);                                             \
    case ordered::release: return ALLOT_NV(name, s, RELEASE, __VA_ARGS__);                                             \
    case ordered::acq_rel: return ALLOT_NV(name, s, ACQ_REL, __VA_ARGS__);                                             \
    default: return ALLOT_NV(name, s, SEQ_CST, __VA_ARGS__);                                                           \
    }
#define ALLOT_NV_PAIRS(name, s, ...)                                                                                   \
    switch (order) {                                                                                                   \
    case ordered::relaxed: return ALLOT_NV2(name, s, RELAXED, RELAXED, __VA_ARGS__);                                   \
    case ordered::acquire: return ALLOT_NV2(name, s, ACQUIRE, ACQUIRE, __VA_ARGS__);                                   \
    case ordered::release: return ALLOT_NV2(name, s, RELEASE, RELAXED, __VA_ARGS__);                                   \
    case ordered::acq_rel: return ALLOT_NV2(name, s, ACQ_REL, ACQUIRE, __VA_ARGS__);                                   \
    default: return ALLOT_NV2(name, s, SEQ_CST, SEQ_CST, __VA_ARGS__);                                                 \
    }
#define ALLOT_ATOMIC(ORDERS, name, ...)                                                                                \
    if constexpr (Scope == thread_scope::block) {                                                                      \
        ALLOT_NV_##ORDERS(name, BLOCK, __VA_ARGS__)                                                                    \
    } else if constexpr (Scope == thread_scope::device) {                                                              \
        ALLOT_NV_##ORDERS(name, DEVICE, __VA_ARGS__)                                                                   \
    } else {                                                                                                           \
        ALLOT_NV_##ORDERS(name, SYSTEM, __VA_ARGS__)                                                                   \
    }
#else
#define ALLOT_HOST_LOADS static_cast<int>(order)
#define ALLOT_HOST_STORES static_cast<int>(order)
#define ALLOT_HOST_ANY static_cast<int>(order)
#define ALLOT_HOST_PAIRS static_cast<int>(order), static_cast<int>(when_it_fails(order))
#define ALLOT_ATOMIC(ORDERS, name, ...) return __atomic_##name(__VA_ARGS__, ALLOT_HOST_##ORDERS);
#endif

/// A word that lies somewhere, as an atomic one. The word must outlive it, and be aligned to its size.
template <thread_scope Scope, atomic_word T> class scoped_ref {
    static constexpr bool alone = Scope == thread_scope::thread;

  public:
    ALLOT_HOST_DEVICE constexpr explicit scoped_ref(T& word) noexcept : word_(&word) {}

    ALLOT_HOST_DEVICE T load(ordered order) const noexcept {
        if constexpr (alone) {
            return *word_;
        } else {
            ALLOT_ATOMIC(LOADS, load_n, word_)
        }
    }
    ALLOT_HOST_DEVICE void store(T value, ordered order) const noexcept {
        if constexpr (alone) {
            *word_ = value;
        } else {
            ALLOT_ATOMIC(STORES, store_n, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T exchange(T value, ordered order) const noexcept {
        if constexpr (alone) {
            return replace(value);
        } else {
            ALLOT_ATOMIC(ANY, exchange_n, word_, value)
        }
    }
    /// False: `expected` is what stands there now. Never fails otherwise. A failure is a load of the order's first
    /// half.
    ALLOT_HOST_DEVICE bool compare_exchange(T& expected, T value, ordered order) const noexcept {
        if constexpr (alone) {
            const bool same = *word_ == expected;
            (same ? *word_ : expected) = same ? value : *word_;
            return same;
        } else {
            ALLOT_ATOMIC(PAIRS, compare_exchange_n, word_, &expected, value, false)
        }
    }

    // All of these return what stood there before; sums and differences wrap around.
    ALLOT_HOST_DEVICE T fetch_add(T value, ordered order) const noexcept {
        if constexpr (alone) {
            return replace(static_cast<T>(bits(*word_) + bits(value)));
        } else if constexpr (std::signed_integral<T>) { // a device adds no signed words of 8 bytes
            return static_cast<T>(as_unsigned().fetch_add(bits(value), order));
        } else {
            ALLOT_ATOMIC(ANY, fetch_add, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T fetch_sub(T value, ordered order) const noexcept {
        if constexpr (alone) {
            return replace(static_cast<T>(bits(*word_) - bits(value)));
        } else if constexpr (std::signed_integral<T>) { // a device adds no signed words of 8 bytes
            return static_cast<T>(as_unsigned().fetch_sub(bits(value), order));
        } else {
            ALLOT_ATOMIC(ANY, fetch_sub, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T fetch_and(T value, ordered order) const noexcept {
        if constexpr (alone) {
            return replace(static_cast<T>(*word_ & value));
        } else {
            ALLOT_ATOMIC(ANY, fetch_and, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T fetch_or(T value, ordered order) const noexcept {
        if constexpr (alone) {
            return replace(static_cast<T>(*word_ | value));
        } else {
            ALLOT_ATOMIC(ANY, fetch_or, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T fetch_xor(T value, ordered order) const noexcept {
        if constexpr (alone) {
            return replace(static_cast<T>(*word_ ^ value));
        } else {
            ALLOT_ATOMIC(ANY, fetch_xor, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T fetch_min(T value, ordered order) const noexcept {
        if constexpr (alone) {
            return replace(value < *word_ ? value : *word_);
        } else {
#if ALLOT_DEVICE_PASS
            ALLOT_ATOMIC(ANY, fetch_min, word_, value)
#else
            return change([=](T was) { return value < was ? value : was; }, order);
#endif
        }
    }
    ALLOT_HOST_DEVICE T fetch_max(T value, ordered order) const noexcept {
        if constexpr (alone) {
            return replace(*word_ < value ? value : *word_);
        } else {
#if ALLOT_DEVICE_PASS
            ALLOT_ATOMIC(ANY, fetch_max, word_, value)
#else
            return change([=](T was) { return was < value ? value : was; }, order);
#endif
        }
    }

  private:
    ALLOT_HOST_DEVICE static std::make_unsigned_t<T> bits(T value) noexcept {
        return static_cast<std::make_unsigned_t<T>>(value);
    }
    ALLOT_HOST_DEVICE auto as_unsigned() const noexcept {
        using U = std::make_unsigned_t<T>;
        return scoped_ref<Scope, U>{*reinterpret_cast<U*>(word_)};
    }
    ALLOT_HOST_DEVICE T replace(T value) const noexcept {
        const T was = *word_;
        *word_ = value;
        return was;
    }
#if !ALLOT_DEVICE_PASS
    static constexpr ordered when_it_fails(ordered order) noexcept {
        return order == ordered::release ? ordered::relaxed : order == ordered::acq_rel ? ordered::acquire : order;
    }
    template <class To> T change(To to, ordered order) const noexcept {
        T was = load(ordered::relaxed);
        while (!compare_exchange(was, to(was), order)) {
        }
        return was;
    }
#endif
    T* word_;
};

#undef ALLOT_ATOMIC
#if ALLOT_DEVICE_PASS
#undef ALLOT_NV
#undef ALLOT_NV2
#undef ALLOT_NV_LOADS
#undef ALLOT_NV_STORES
#undef ALLOT_NV_ANY
#undef ALLOT_NV_PAIRS
#else
#undef ALLOT_HOST_LOADS
#undef ALLOT_HOST_STORES
#undef ALLOT_HOST_ANY
#undef ALLOT_HOST_PAIRS
#endif

template <thread_scope Scope, atomic_word T> ALLOT_HOST_DEVICE constexpr scoped_ref<Scope, T> scoped(T& word) noexcept {
    return scoped_ref<Scope, T>{word};
}

} // namespace allot::inline ALLOT_ABI
