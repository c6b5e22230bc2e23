// Byte and time literals, the values that constructors take, and arithmetic that detects overflow.
//
// `512_MiB` is a compile-time std::size_t; a literal that does not fit does not compile. The structs are strong types,
// so that a constructor can take them in any order. Callable from anywhere, device code included.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// The most bytes that may be charged.
struct limit {
    std::size_t bytes;
};

/// The name of an object in reports. The text must outlive the object.
struct name {
    const char* text;
};

/// The page size, chosen at run time: a power of two, 64 KiB to 16 MiB.
struct page_bytes {
    std::size_t bytes;
};

/// The chunk size, chosen at run time: a power of two, from one page to 64 MiB.
struct chunk_bytes {
    std::size_t bytes;
};

/// The address space that an arena reserves.
struct reserve_bytes {
    std::size_t bytes;
};

/// A span of time in milliseconds, for options of policies: `10_s`, `500_ms`.
struct time_span {
    std::uint64_t ms;
};

/// Writes a + b to `result`. Returns: false, without writing, on overflow.
ALLOT_HOST_DEVICE constexpr bool checked_add(std::size_t a, std::size_t b, std::size_t& result) noexcept {
    if (b > SIZE_MAX - a) return false;
    result = a + b;
    return true;
}

/// Writes a * b to `result`. Returns: false, without writing, on overflow.
ALLOT_HOST_DEVICE constexpr bool checked_mul(std::size_t a, std::size_t b, std::size_t& result) noexcept {
    if (a != 0 && b > SIZE_MAX / a) return false;
    result = a * b;
    return true;
}

namespace detail {

void literal_is_not_an_integer(); // not constexpr, so that a call is a compile-time error with this name
void literal_does_not_fit_in_size_t();

constexpr unsigned digit(char c) noexcept {
    return c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                  : 99u;
}

// An integer literal in any base, times Unit.
template <std::size_t Unit, char... Text> constexpr std::size_t scaled() {
    constexpr char text[] = {Text..., '\0'};
    const bool prefixed = text[0] == '0' && text[1] != '\0';
    const unsigned base = !prefixed                          ? 10
                          : text[1] == 'x' || text[1] == 'X' ? 16
                          : text[1] == 'b' || text[1] == 'B' ? 2
                                                             : 8;
    std::size_t n = 0;
    for (const char* at = text + (base == 16 || base == 2 ? 2 : 0); *at != '\0'; ++at) {
        if (*at == '\'') continue;
        if (digit(*at) >= base) literal_is_not_an_integer();
        if (!checked_mul(n, base, n) || !checked_add(n, digit(*at), n)) literal_does_not_fit_in_size_t();
    }
    if (!checked_mul(n, Unit, n)) literal_does_not_fit_in_size_t();
    return n;
}

// A variable, because clang 14 does not evaluate calls of consteval functions in templates.
template <std::size_t Unit, char... Text> inline constexpr std::size_t scaled_v = scaled<Unit, Text...>();

} // namespace detail

inline namespace literals {

template <char... Text> ALLOT_HOST_DEVICE constexpr std::size_t operator""_KiB() noexcept {
    return detail::scaled_v<std::size_t{1} << 10, Text...>;
}
template <char... Text> ALLOT_HOST_DEVICE constexpr std::size_t operator""_MiB() noexcept {
    return detail::scaled_v<std::size_t{1} << 20, Text...>;
}
template <char... Text> ALLOT_HOST_DEVICE constexpr std::size_t operator""_GiB() noexcept {
    return detail::scaled_v<std::size_t{1} << 30, Text...>;
}
template <char... Text> ALLOT_HOST_DEVICE constexpr std::size_t operator""_TiB() noexcept {
    return detail::scaled_v<std::size_t{1} << 40, Text...>;
}
template <char... Text> ALLOT_HOST_DEVICE constexpr time_span operator""_ms() noexcept {
    return {detail::scaled_v<1, Text...>};
}
template <char... Text> ALLOT_HOST_DEVICE constexpr time_span operator""_s() noexcept {
    return {detail::scaled_v<1000, Text...>};
}

} // namespace literals

} // namespace allot::inline ALLOT_ABI
