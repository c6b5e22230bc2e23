// Validity bits: whether a value of a vector is there or null; lowest bit of a byte first, from any bit on.
//
// Cost: a shift and a mask per bit; counting takes 8 bytes at a time. Threads: values share bytes, so only one thread may
// write the bits of a vector. Source: Arrow's validity bitmaps, 2016.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/little_endian.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Bytes that hold bits [first, first + n).
constexpr std::size_t bytes_of_bits(std::size_t first, std::size_t n) noexcept {
    return n == 0 ? 0 : (first + n - 1) / 8 - first / 8 + 1;
}

inline bool bit_at(const std::byte* bits, std::size_t i) noexcept {
    return (std::to_integer<unsigned>(bits[i / 8]) >> i % 8 & 1U) != 0;
}
inline void set_bit(std::byte* bits, std::size_t i, bool value) noexcept {
    const std::byte mask{static_cast<unsigned char>(1U << i % 8)};
    bits[i / 8] = value ? bits[i / 8] | mask : bits[i / 8] & ~mask;
}
// Set bits among [first, first + n). Reads no other bytes than those that hold them.
inline std::size_t count_bits(const std::byte* bits, std::size_t first, std::size_t n) noexcept {
    std::size_t count = 0, i = first;
    const std::size_t end = first + n;
    for (; i != end && i % 8 != 0; ++i) count += bit_at(bits, i);
    for (; end - i >= 64; i += 64)
        count += static_cast<std::size_t>(std::popcount(load_little<std::uint64_t>(bits + i / 8)));
    for (; i != end; ++i) count += bit_at(bits, i);
    return count;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
