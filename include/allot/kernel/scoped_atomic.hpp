// Atomic operations on a plain word, on the host and on a device, within a thread scope.
//
//     std::uint64_t word = 0;                                                  // a plain word
//     if ((scoped<thread_scope::device>(word).fetch_or(bit, ordered::acquire) & bit) == 0) ...
//
// Words are integers of 4 or 8 bytes. The host uses the __atomic builtins, a device nvcc's __nv_atomic builtins;
// libcu++ is not included, because it costs seconds per translation unit. nvcc needs order and scope as literals, so
// each operation is a switch that disappears when it is inlined: pass the order as a constant. thread_scope::thread
// uses plain loads and stores, as no other thread accesses the word. The host treats all other scopes alike. Orders are
// those of C++: loads take relaxed, acquire, seq_cst, stores relaxed, release, seq_cst; a device treats any other order
// of them as seq_cst.
// Cost: one instruction where the machine has one; min and max are a loop on the host.
// Threads: those of the scope. Source: scopes, CUDA 9 and PTX 6.0, 2017; std::atomic_ref, C++20.
#pragma once

#include <allot/config.hpp>

#include <concepts>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// The threads for which an operation is atomic; `block` is a thread block.
enum class thread_scope { thread, block, device, system };

/// Memory orders, as std::memory_order.
enum class ordered : int {
    relaxed = __ATOMIC_RELAXED,
    acquire = __ATOMIC_ACQUIRE,
    release = __ATOMIC_RELEASE,
    acq_rel = __ATOMIC_ACQ_REL,
    seq_cst = __ATOMIC_SEQ_CST
};

namespace detail {

template <class T>
concept atomic_word = std::integral<T> && !std::same_as<T, bool> && (sizeof(T) == 4 || sizeof(T) == 8);

} // namespace detail

// ALLOT_ATOMIC(ORDERS, name, arguments...): returns the result of the builtin of this name. ORDERS are the orders that
// it accepts: LOADS, STORES, ANY, or PAIRS (of success and failure).
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
#define ALLOT_HOST_PAIRS static_cast<int>(order), static_cast<int>(failure_order(order))
#define ALLOT_ATOMIC(ORDERS, name, ...) return __atomic_##name(__VA_ARGS__, ALLOT_HOST_##ORDERS);
#endif

/// A reference to a word with atomic operations, as std::atomic_ref.
/// Requires: the word outlives the reference and is aligned to its size.
/// Threads: those of Scope.
template <thread_scope Scope, detail::atomic_word T> class scoped_ref {
    static constexpr bool single_thread = Scope == thread_scope::thread;

  public:
    ALLOT_HOST_DEVICE constexpr explicit scoped_ref(T& word) noexcept : word_(&word) {}

    ALLOT_HOST_DEVICE T load(ordered order) const noexcept {
        if constexpr (single_thread) {
            return *word_;
        } else {
            ALLOT_ATOMIC(LOADS, load_n, word_)
        }
    }
    ALLOT_HOST_DEVICE void store(T value, ordered order) const noexcept {
        if constexpr (single_thread) {
            *word_ = value;
        } else {
            ALLOT_ATOMIC(STORES, store_n, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T exchange(T value, ordered order) const noexcept {
        if constexpr (single_thread) {
            return replace(value);
        } else {
            ALLOT_ATOMIC(ANY, exchange_n, word_, value)
        }
    }
    /// Strong. Returns: false and the present value in `expected` when the word differs from it; the failure has the
    /// load part of `order`.
    ALLOT_HOST_DEVICE bool compare_exchange(T& expected, T value, ordered order) const noexcept {
        if constexpr (single_thread) {
            const bool same = *word_ == expected;
            (same ? *word_ : expected) = same ? value : *word_;
            return same;
        } else {
            ALLOT_ATOMIC(PAIRS, compare_exchange_n, word_, &expected, value, false)
        }
    }

    // All fetch operations return the value before; sums and differences wrap around.
    ALLOT_HOST_DEVICE T fetch_add(T value, ordered order) const noexcept {
        if constexpr (single_thread) {
            return replace(static_cast<T>(bits(*word_) + bits(value)));
        } else if constexpr (std::signed_integral<T>) { // a device cannot add signed words of 8 bytes
            return static_cast<T>(as_unsigned().fetch_add(bits(value), order));
        } else {
            ALLOT_ATOMIC(ANY, fetch_add, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T fetch_sub(T value, ordered order) const noexcept {
        if constexpr (single_thread) {
            return replace(static_cast<T>(bits(*word_) - bits(value)));
        } else if constexpr (std::signed_integral<T>) { // a device cannot add signed words of 8 bytes
            return static_cast<T>(as_unsigned().fetch_sub(bits(value), order));
        } else {
            ALLOT_ATOMIC(ANY, fetch_sub, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T fetch_and(T value, ordered order) const noexcept {
        if constexpr (single_thread) {
            return replace(static_cast<T>(*word_ & value));
        } else {
            ALLOT_ATOMIC(ANY, fetch_and, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T fetch_or(T value, ordered order) const noexcept {
        if constexpr (single_thread) {
            return replace(static_cast<T>(*word_ | value));
        } else {
            ALLOT_ATOMIC(ANY, fetch_or, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T fetch_xor(T value, ordered order) const noexcept {
        if constexpr (single_thread) {
            return replace(static_cast<T>(*word_ ^ value));
        } else {
            ALLOT_ATOMIC(ANY, fetch_xor, word_, value)
        }
    }
    ALLOT_HOST_DEVICE T fetch_min(T value, ordered order) const noexcept {
        if constexpr (single_thread) {
            return replace(value < *word_ ? value : *word_);
        } else {
#if ALLOT_DEVICE_PASS
            ALLOT_ATOMIC(ANY, fetch_min, word_, value)
#else
            return update([=](T was) { return value < was ? value : was; }, order);
#endif
        }
    }
    ALLOT_HOST_DEVICE T fetch_max(T value, ordered order) const noexcept {
        if constexpr (single_thread) {
            return replace(*word_ < value ? value : *word_);
        } else {
#if ALLOT_DEVICE_PASS
            ALLOT_ATOMIC(ANY, fetch_max, word_, value)
#else
            return update([=](T was) { return was < value ? value : was; }, order);
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
    static constexpr ordered failure_order(ordered order) noexcept {
        return order == ordered::release ? ordered::relaxed : order == ordered::acq_rel ? ordered::acquire : order;
    }
    template <class To> T update(To to, ordered order) const noexcept {
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

/// The word as a scoped_ref<Scope, T>.
template <thread_scope Scope, detail::atomic_word T>
ALLOT_HOST_DEVICE constexpr scoped_ref<Scope, T> scoped(T& word) noexcept {
    return scoped_ref<Scope, T>{word};
}

} // namespace allot::inline ALLOT_ABI
