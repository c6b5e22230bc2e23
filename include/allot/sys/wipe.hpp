// Zeroes memory that is not read afterwards; the compiler cannot remove the store as dead.
//
// Cost: that of memset. Threads: any, for memory that no other thread uses.
// Source: explicit_bzero, OpenBSD 2014.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstring>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

ALLOT_NOINLINE inline void wipe(void* p, std::size_t bytes) noexcept {
    std::memset(p, 0, bytes);
    asm volatile("" : : "r"(p) : "memory"); // the compiler must assume that the memory is read
}

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
