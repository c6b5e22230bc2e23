// A multiplicative hash. Use the top bits: `shift` is 64 minus the bits wanted.
//
// Cost: one multiplication and one shift. Source: Knuth 1973 (Fibonacci hashing).
#pragma once

#include <allot/config.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

ALLOT_HOST_DEVICE constexpr std::uint64_t multiplicative_hash(std::uint64_t key, unsigned shift) noexcept {
    return key * 0x9E3779B97F4A7C15U >> shift;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
