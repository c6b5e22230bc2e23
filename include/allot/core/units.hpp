// Bytes and spans of time as people write them, the values a product's constructor takes, and sums that notice
// overflow.
//
// `512_MiB` is a compile-time std::size_t; a number too large for it does not compile. The structs below are
// strong types, so that a constructor can take them in any order.
// Callable from anywhere, device code included.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// The bytes that may be charged, at most.
struct limit {
    std::size_t bytes;
};

/// What reports call an object. The text must outlive it.
struct name {
    const char* text;
};

/// The size of pages asked for at run time: a power of two, 64 KiB to 16 MiB.
struct page_bytes {
    std::size_t bytes;
};

/// The size of chunks asked for at run time: a power of two, a page to 64 MiB.
struct chunk_bytes {
    std::size_t bytes;
};

/// How much address space an arena reserves.
struct reserve_bytes {
    std::size_t bytes;
};

/// A span of time, as a policy's option: `10_s`, `500_ms`.
struct time_span {
    std::uint64_t ms;
};

/// a + b in `result`; false, and `result` untouched, where it does not fit.
ALLOT_HOST_DEVICE constexpr bool checked_add(std::size_t a, std::size_t b, std::size_t& result) noexcept {
    if (b > SIZE_MAX - a) return false;
    result = a + b;
    return true;
}

/// a * b in `result`; false, and `result` untouched, where it does not fit.
ALLOT_HOST_DEVICE constexpr bool checked_mul(std::size_t a, std::size_t b, std::size_t& result) noexcept {
    if (a != 0 && b > SIZE_MAX / a) return false;
    result = a * b;
    return true;
}

namespace detail {

void this_is_no_whole_number(); // never defined: calling one of them ends a constant evaluation
void this_many_bytes_do_not_fit_in_size_t();

constexpr unsigned digit(char c) noexcept {
    return c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                  : 99u;
}

// A whole number as it stands in the source, in any base, times `unit`.
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
        if (digit(*at) >= base) this_is_no_whole_number();
        if (!checked_mul(n, base, n) || !checked_add(n, digit(*at), n)) this_many_bytes_do_not_fit_in_size_t();
    }
    if (!checked_mul(n, Unit, n)) this_many_bytes_do_not_fit_in_size_t();
    return n;
}

// A variable, because clang 14 leaves calls of consteval functions in templates to the linker.
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
