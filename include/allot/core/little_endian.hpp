// Numbers in memory as little-endian bytes, at any address, on any machine.
//
// Cost: one plain load or store on little-endian machines, and a byte swap on others. Threads: those of the bytes.
// Source: Arrow's column format, 2016, which can share these bytes.
#pragma once

#include <allot/config.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// A number that a buffer can hold: integer, floating point, enum, bool. Not long double, which has no fixed format.
template <class T>
concept plain_number = (std::is_arithmetic_v<T> || std::is_enum_v<T>) && !std::is_const_v<T> &&
                       !std::is_volatile_v<T> && !std::is_same_v<T, long double>;

namespace detail {

// The machine's byte order is a parameter, so that tests run both.
template <std::endian Machine, plain_number T> ALLOT_ALWAYS_INLINE T in_little_endian(T value) noexcept {
    if constexpr (Machine == std::endian::little || sizeof(T) == 1) return value;
    else {
        auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
        for (std::size_t i = 0; i != sizeof(T) / 2; ++i) {
            const std::byte low = bytes[i];
            bytes[i] = bytes[sizeof(T) - 1 - i];
            bytes[sizeof(T) - 1 - i] = low;
        }
        return std::bit_cast<T>(bytes);
    }
}
template <plain_number T, std::endian Machine = std::endian::native>
ALLOT_ALWAYS_INLINE T load_little(const std::byte* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof value);
    return in_little_endian<Machine>(value);
}
template <plain_number T, std::endian Machine = std::endian::native>
ALLOT_ALWAYS_INLINE void store_little(std::byte* to, T value) noexcept {
    const T its = in_little_endian<Machine>(value);
    std::memcpy(to, &its, sizeof its);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
