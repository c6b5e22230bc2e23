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

namespace detail {
ALLOT_HOST_DEVICE constexpr const char* text_or_empty(const char* t) noexcept { return t != nullptr ? t : ""; }
} // namespace detail

/// The name of an object in reports. The text must outlive the object; null is an empty one.
struct name {
    const char* text;

    ALLOT_HOST_DEVICE constexpr explicit name(const char* t) noexcept : text(detail::text_or_empty(t)) {}
};

/// The page size, chosen at run time: a power of two, 16 KiB to 16 MiB.
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

namespace detail {

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

// What std::chrono::duration has; <chrono> takes longer to compile than this library's headers of rank 0.
template <class T>
concept duration = requires(const T& d, typename T::rep count) {
    d.count();
    count > 0;
    T::period::num;
    T::period::den;
};

// In milliseconds, rounded up: 0 if it is negative, UINT64_MAX if it is longer than that.
template <duration T> constexpr std::uint64_t whole_ms(const T& span) noexcept {
    using rep = typename T::rep;
    const rep count = span.count();
    if (!(count > rep(0))) return 0; // nor NaN
    constexpr auto num = static_cast<std::uint64_t>(T::period::num), den = static_cast<std::uint64_t>(T::period::den);
    if constexpr (rep(1) / rep(2) != rep(0)) { // a floating type
        const double ms = static_cast<double>(count) * (1e3 * static_cast<double>(num) / static_cast<double>(den));
        if (!(ms < 18446744073709551615.0)) return UINT64_MAX;
        const auto below = static_cast<std::uint64_t>(ms);
        return below + (static_cast<double>(below) < ms);
    } else {
        std::size_t whole = 0, part = 0, scale = 0;
        const auto n = static_cast<std::uint64_t>(count);
        const bool fits = checked_mul(num, 1000, scale) && checked_mul(n / den, scale, whole) &&
                          checked_mul(n % den, scale, part) && checked_add(whole, part / den, whole) &&
                          checked_add(whole, part % den != 0 ? 1 : 0, whole);
        return fits ? whole : UINT64_MAX;
    }
}

} // namespace detail

/// A span of time in milliseconds: `10_s`, `500_ms`, or any std::chrono::duration. A duration is rounded up to whole
/// milliseconds; a negative one is 0, and one that does not fit is the longest span.
struct time_span {
    std::uint64_t ms = 0;

    constexpr time_span() noexcept = default;
    ALLOT_HOST_DEVICE constexpr explicit time_span(std::uint64_t milliseconds) noexcept : ms(milliseconds) {}
    template <detail::duration Duration>
    constexpr time_span(const Duration& span) noexcept : ms(detail::whole_ms(span)) {}
};
/// For waits: without an end.
inline constexpr time_span forever{UINT64_MAX};

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
    return time_span{detail::scaled_v<1, Text...>};
}
template <char... Text> ALLOT_HOST_DEVICE constexpr time_span operator""_s() noexcept {
    return time_span{detail::scaled_v<1000, Text...>};
}

} // namespace literals

} // namespace allot::inline ALLOT_ABI
