// Marks free memory for AddressSanitizer and valgrind, so that they report uses of it. No code without them.
//
// Sizes are in bytes. AddressSanitizer marks units of 8 bytes, and not atomically, so a unit shared by two neighbours
// is left alone: up to 7 bytes at either end stay readable. Where the caller owns the whole units, the end is exact.
// Hidden memory is the library's own beside memory of users: AddressSanitizer reports every use of it but those by
// read_hidden(), write_hidden() and hidden_ref.
// Threads: any, for memory that no other thread uses.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if ALLOT_ASAN
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#endif
#if ALLOT_VALGRIND
#include <valgrind/memcheck.h>
#endif

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

// Whether others use the rest of the first and of the last unit.
enum class unit_ends { shared, own };

#if ALLOT_ASAN
inline void mark_units(const void* p, std::size_t bytes, unit_ends ends,
                       void (*mark)(const volatile void*, std::size_t)) noexcept {
    if (ends == unit_ends::own) return mark(p, bytes);
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    const std::uintptr_t begin = align_up(at, std::size_t{8}), end = align_down(at + bytes, std::size_t{8});
    if (begin < end) mark(reinterpret_cast<const void*>(begin), end - begin);
}
#endif

// Forbids access.
inline void poison([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes,
                   [[maybe_unused]] unit_ends ends = unit_ends::shared) noexcept {
#if ALLOT_ASAN
    mark_units(p, bytes, ends, &__asan_poison_memory_region);
#endif
#if ALLOT_VALGRIND
    VALGRIND_MAKE_MEM_NOACCESS(p, bytes);
#endif
}
// Allows access; the contents are unspecified.
inline void unpoison([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes,
                     [[maybe_unused]] unit_ends ends = unit_ends::shared) noexcept {
#if ALLOT_ASAN
    mark_units(p, bytes, ends, &__asan_unpoison_memory_region);
#endif
#if ALLOT_VALGRIND
    VALGRIND_MAKE_MEM_UNDEFINED(p, bytes);
#endif
}

// Allows access; the contents are those from before poison().
inline void expose([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes,
                   [[maybe_unused]] unit_ends ends = unit_ends::shared) noexcept {
#if ALLOT_ASAN
    mark_units(p, bytes, ends, &__asan_unpoison_memory_region);
#endif
#if ALLOT_VALGRIND
    VALGRIND_MAKE_MEM_DEFINED(p, bytes);
#endif
}

// The same for pages. A run may be larger than memory, so of a longer one only the first 256 MiB are poisoned; that it
// is exposed costs a system call, and no memory for what AddressSanitizer notes of it.
inline constexpr std::size_t most_poisoned = std::size_t{256} << 20;
inline void poison_pages(const void* p, std::size_t bytes) noexcept {
    poison(p, bytes < most_poisoned ? bytes : most_poisoned);
}
inline void expose_pages(const void* p, std::size_t bytes) noexcept {
#if ALLOT_ASAN
    if (bytes > most_poisoned) {
        std::size_t scale, offset, page = std::size_t{64} << 10; // a multiple of an OS page
        __asan_get_shadow_mapping(&scale, &offset);
        const auto note_of = [&](std::uintptr_t at) { return (at >> scale) + offset; };
        const auto at = reinterpret_cast<std::uintptr_t>(p), from = align_up(note_of(at), page);
        const std::uintptr_t to = align_down(note_of(at + bytes), page);
        if (::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED) == 0) { // the notes of the rest: zeros
            const std::size_t head = ((from - offset) << scale) - at, tail = at + bytes - ((to - offset) << scale);
            expose(p, head);
            return expose(static_cast<const std::byte*>(p) + bytes - tail, tail);
        }
    }
#endif
    expose(p, bytes);
}

// Reads or writes a few bytes of poisoned memory, which stays poisoned.
#if ALLOT_ASAN
ALLOT_NO_ADDRESS_CHECK inline void copy_poisoned(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
}
#endif
inline void read_poisoned(void* to, const std::byte* from, std::size_t bytes) noexcept {
#if ALLOT_ASAN
    copy_poisoned(static_cast<std::byte*>(to), from, bytes);
#else
    expose(from, bytes);
    std::memcpy(to, from, bytes);
    poison(from, bytes);
#endif
}
inline void write_poisoned(std::byte* to, const void* from, std::size_t bytes) noexcept {
#if ALLOT_ASAN
    copy_poisoned(to, static_cast<const std::byte*>(from), bytes);
#else
    unpoison(to, bytes);
    std::memcpy(to, from, bytes);
    poison(to, bytes);
#endif
}

// Hides it. The caller owns the whole units. valgrind sees no difference.
inline void hide([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if ALLOT_ASAN
    __asan_poison_memory_region(p, bytes);
#endif
}
// Reads or writes hidden memory.
inline void read_hidden(void* to, const std::byte* from, std::size_t bytes) noexcept {
#if ALLOT_ASAN
    copy_poisoned(static_cast<std::byte*>(to), from, bytes);
#else
    std::memcpy(to, from, bytes);
#endif
}
inline void write_hidden(std::byte* to, const void* from, std::size_t bytes) noexcept {
#if ALLOT_ASAN
    copy_poisoned(to, static_cast<const std::byte*>(from), bytes);
#else
    std::memcpy(to, from, bytes);
#endif
}
// std::atomic_ref of a word that may be hidden.
#if ALLOT_ASAN
template <class T> class hidden_ref {
    static constexpr int order = __ATOMIC_SEQ_CST; // whatever is asked for

  public:
    explicit hidden_ref(T& word) noexcept : at_(&word) {}
    ALLOT_NO_ADDRESS_CHECK T load(std::memory_order = {}) const noexcept { return __atomic_load_n(at_, order); }
    ALLOT_NO_ADDRESS_CHECK void store(T to, std::memory_order = {}) const noexcept { __atomic_store_n(at_, to, order); }
    ALLOT_NO_ADDRESS_CHECK T fetch_add(T n, std::memory_order = {}) const noexcept {
        return __atomic_fetch_add(at_, n, order);
    }
    ALLOT_NO_ADDRESS_CHECK T fetch_sub(T n, std::memory_order = {}) const noexcept {
        return __atomic_fetch_sub(at_, n, order);
    }
    ALLOT_NO_ADDRESS_CHECK T fetch_or(T bits, std::memory_order = {}) const noexcept {
        return __atomic_fetch_or(at_, bits, order);
    }
    ALLOT_NO_ADDRESS_CHECK T fetch_and(T bits, std::memory_order = {}) const noexcept {
        return __atomic_fetch_and(at_, bits, order);
    }
    ALLOT_NO_ADDRESS_CHECK bool compare_exchange_weak(T& expected, T to, std::memory_order = {}) const noexcept {
        return __atomic_compare_exchange_n(at_, &expected, to, true, order, order);
    }

  private:
    T* at_;
};
#else
template <class T> using hidden_ref = std::atomic_ref<T>;
#endif

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
