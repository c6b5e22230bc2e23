// Marks free memory for AddressSanitizer and valgrind, so that they tell a use after release. No code otherwise.
//
// Sizes in bytes; AddressSanitizer works in units of 8, so up to 7 bytes at the end stay readable.
// Threads: any, for memory that nobody else uses.
#pragma once

#include <allot/config.hpp>

#include <cstddef>

#if ALLOT_ASAN
#include <sanitizer/asan_interface.h>
#endif
#if ALLOT_VALGRIND
#include <valgrind/memcheck.h>
#endif

namespace allot::inline ALLOT_ABI {
namespace sys {

inline void poison([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if ALLOT_ASAN
    __asan_poison_memory_region(p, bytes);
#endif
#if ALLOT_VALGRIND
    VALGRIND_MAKE_MEM_NOACCESS(p, bytes);
#endif
}
// The memory may be used; its contents are unspecified.
inline void unpoison([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if ALLOT_ASAN
    __asan_unpoison_memory_region(p, bytes);
#endif
#if ALLOT_VALGRIND
    VALGRIND_MAKE_MEM_UNDEFINED(p, bytes);
#endif
}

// The memory may be read, and holds what it held before it was poisoned.
inline void expose([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if ALLOT_ASAN
    __asan_unpoison_memory_region(p, bytes);
#endif
#if ALLOT_VALGRIND
    VALGRIND_MAKE_MEM_DEFINED(p, bytes);
#endif
}

} // namespace sys
} // namespace allot::inline ALLOT_ABI
