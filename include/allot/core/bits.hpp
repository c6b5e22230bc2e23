// Powers of two and rounding. Alignments are powers of two. O(1), constexpr, host and device.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

ALLOT_HOST_DEVICE constexpr bool is_power_of_two(std::size_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }

/// The smallest multiple of `align` that is >= n. Requires: n + align - 1 does not overflow.
ALLOT_HOST_DEVICE constexpr std::size_t align_up(std::size_t n, std::size_t align) noexcept {
    return (n + align - 1) & ~(align - 1);
}

/// The smallest multiple of `align` that is >= n; n itself, which no source has, if there is none.
ALLOT_HOST_DEVICE constexpr std::size_t rounded_up(std::size_t n, std::size_t align) noexcept {
    return n > SIZE_MAX - (align - 1) ? n : align_up(n, align);
}

/// The largest multiple of `align` that is <= n.
ALLOT_HOST_DEVICE constexpr std::size_t align_down(std::size_t n, std::size_t align) noexcept {
    return n & ~(align - 1);
}

ALLOT_HOST_DEVICE constexpr bool is_aligned(std::size_t n, std::size_t align) noexcept {
    return (n & (align - 1)) == 0;
}

/// n / unit, rounded up. Does not overflow.
ALLOT_HOST_DEVICE constexpr std::size_t ceil_div(std::size_t n, std::size_t unit) noexcept {
    return n / unit + (n % unit != 0);
}

/// The index of the highest set bit. Requires: n != 0.
ALLOT_HOST_DEVICE constexpr unsigned log2_floor(std::size_t n) noexcept {
    return 63U - static_cast<unsigned>(__builtin_clzll(n));
}

/// The smallest k with 2^k >= n. Requires: n != 0.
ALLOT_HOST_DEVICE constexpr unsigned log2_ceil(std::size_t n) noexcept { return n == 1 ? 0U : log2_floor(n - 1) + 1; }

/// The number of set bits. A word of ones, as full groups of slots have it, costs a comparison.
constexpr std::uint32_t count_bits(std::uint64_t bits) noexcept {
    return bits == ~std::uint64_t{0} ? 64 : static_cast<std::uint32_t>(__builtin_popcountll(bits));
}

} // namespace detail

static_assert(sizeof(std::size_t) == 8, "allot needs a 64-bit platform");

} // namespace allot::inline ALLOT_ABI
