// Bytes as people write them, the values a product's constructor takes, and sums that notice overflow.
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

/// How much address space an arena reserves.
struct reserve_bytes {
    std::size_t bytes;
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

void this_many_bytes_do_not_fit_in_size_t(); // never defined: calling it ends a constant evaluation

consteval std::size_t scaled(unsigned long long n, std::size_t unit) {
    std::size_t bytes = 0;
    if (n > SIZE_MAX || !checked_mul(static_cast<std::size_t>(n), unit, bytes))
        this_many_bytes_do_not_fit_in_size_t();
    return bytes;
}

} // namespace detail

inline namespace literals {

consteval std::size_t operator""_KiB(unsigned long long n) { return detail::scaled(n, std::size_t{1} << 10); }
consteval std::size_t operator""_MiB(unsigned long long n) { return detail::scaled(n, std::size_t{1} << 20); }
consteval std::size_t operator""_GiB(unsigned long long n) { return detail::scaled(n, std::size_t{1} << 30); }
consteval std::size_t operator""_TiB(unsigned long long n) { return detail::scaled(n, std::size_t{1} << 40); }

} // namespace literals

} // namespace allot::inline ALLOT_ABI
