// A number that a stray write cannot guess, derived from the random bytes that the kernel gives each process.
//
// Not for cryptography: it keeps damaged links and canaries from matching by chance. Cost: some dozen instructions, no
// system call; it cannot fail. Threads: any.
// Source: AT_RANDOM, Linux 2.6.29; mixing by splitmix64, Steele, Lea and Flood 2014.
#pragma once

#include <allot/config.hpp>

#include <cstdint>
#include <cstring>
#include <sys/auxv.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

// Different for each process and each object.
inline std::uint64_t object_secret(const void* object) noexcept {
    std::uint64_t x = 0;
    if (const auto* const random = reinterpret_cast<const void*>(::getauxval(AT_RANDOM)); random != nullptr)
        std::memcpy(&x, random, sizeof x);
    x += 0x9E3779B97F4A7C15u * (reinterpret_cast<std::uintptr_t>(object) | 1);
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
