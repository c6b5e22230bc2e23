// Marks free memory for AddressSanitizer and valgrind, so that they report uses of it. No code without them.
//
// Sizes are in bytes. AddressSanitizer marks units of 8 bytes, and not atomically, so a unit shared by two neighbours
// is left alone: up to 7 bytes at either end stay readable.
// Threads: any, for memory that no other thread uses.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if ALLOT_ASAN
#include <sanitizer/asan_interface.h>
#endif
#if ALLOT_VALGRIND
#include <valgrind/memcheck.h>
#endif

namespace allot::inline ALLOT_ABI {
namespace sys {

#if ALLOT_ASAN
inline void mark_units(const void* p, std::size_t bytes, void (*mark)(const volatile void*, std::size_t)) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    const std::uintptr_t begin = align_up(at, std::size_t{8}), end = align_down(at + bytes, std::size_t{8});
    if (begin < end) mark(reinterpret_cast<const void*>(begin), end - begin);
}
#endif

// Forbids access.
inline void poison([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if ALLOT_ASAN
    mark_units(p, bytes, &__asan_poison_memory_region);
#endif
#if ALLOT_VALGRIND
    VALGRIND_MAKE_MEM_NOACCESS(p, bytes);
#endif
}
// Allows access; the contents are unspecified.
inline void unpoison([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if ALLOT_ASAN
    mark_units(p, bytes, &__asan_unpoison_memory_region);
#endif
#if ALLOT_VALGRIND
    VALGRIND_MAKE_MEM_UNDEFINED(p, bytes);
#endif
}

// Allows access; the contents are those from before poison().
inline void expose([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if ALLOT_ASAN
    mark_units(p, bytes, &__asan_unpoison_memory_region);
#endif
#if ALLOT_VALGRIND
    VALGRIND_MAKE_MEM_DEFINED(p, bytes);
#endif
}

// Reads or writes a few bytes of poisoned memory, which stays poisoned.
#if ALLOT_ASAN
__attribute__((no_sanitize_address, noinline)) inline void copy_poisoned(std::byte* to, const std::byte* from,
                                                                         std::size_t bytes) noexcept {
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

} // namespace sys
} // namespace allot::inline ALLOT_ABI
