// Zeroes memory that nobody may read later, so that the compiler cannot leave it out as a dead store.
//
// Cost: that of memset. Threads: any, for memory that nobody else uses.
// Source: explicit_bzero, OpenBSD 2014.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstring>

namespace allot::inline ALLOT_ABI {
namespace sys {

ALLOT_NOINLINE inline void wipe(void* p, std::size_t bytes) noexcept {
    std::memset(p, 0, bytes);
    asm volatile("" : : "r"(p) : "memory"); // somebody may look at it now
}

} // namespace sys
} // namespace allot::inline ALLOT_ABI
