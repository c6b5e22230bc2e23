#include <support/catch.hpp>

#include <allot/core/bits.hpp>

#include <cstdint>

using namespace allot;

TEST_CASE("powers of two are distinguished from other numbers") {
    CHECK_FALSE(detail::is_power_of_two(0));
    for (unsigned k = 0; k != 64; ++k) CHECK(detail::is_power_of_two(std::size_t{1} << k));
    for (unsigned k = 2; k != 64; ++k) CHECK_FALSE(detail::is_power_of_two((std::size_t{1} << k) - 1));
    CHECK_FALSE(detail::is_power_of_two(SIZE_MAX));
}

TEST_CASE("rounding goes to the nearest multiple on the right side") {
    for (const std::size_t align : {1U, 2U, 8U, 64U, 4096U})
        for (std::size_t n = 0; n != 10000; ++n) {
            const std::size_t up = detail::align_up(n, align), down = detail::align_down(n, align);
            const bool good = up >= n && up - n < align && up % align == 0 && down <= n && n - down < align &&
                              down % align == 0 && detail::is_aligned(n, align) == (n % align == 0);
            if (!good) FAIL("n " << n << " align " << align);
        }
    STATIC_REQUIRE(detail::align_up(SIZE_MAX - 7, 8) == SIZE_MAX - 7);
    STATIC_REQUIRE((detail::rounded_up(9, 8) == 16 && detail::rounded_up(SIZE_MAX - 8, 8) == SIZE_MAX - 7));
    STATIC_REQUIRE(
        (detail::rounded_up(SIZE_MAX - 6, 8) == SIZE_MAX - 6 && detail::rounded_up(SIZE_MAX, 4096) == SIZE_MAX));
}

TEST_CASE("division rounds up without overflow") {
    STATIC_REQUIRE(detail::ceil_div(0, 8) == 0);
    STATIC_REQUIRE(detail::ceil_div(1, 8) == 1);
    STATIC_REQUIRE(detail::ceil_div(8, 8) == 1);
    STATIC_REQUIRE(detail::ceil_div(9, 8) == 2);
    STATIC_REQUIRE(detail::ceil_div(SIZE_MAX, 2) == std::size_t{1} << 63);
}

TEST_CASE("logarithms bracket their number") {
    STATIC_REQUIRE(detail::log2_floor(1) == 0);
    STATIC_REQUIRE(detail::log2_ceil(1) == 0);
    STATIC_REQUIRE(detail::log2_floor(SIZE_MAX) == 63);
    STATIC_REQUIRE(detail::log2_ceil(SIZE_MAX) == 64);
    for (std::size_t n = 1; n != 5000; ++n) {
        const std::size_t low = std::size_t{1} << detail::log2_floor(n), high = std::size_t{1} << detail::log2_ceil(n);
        if (!(low <= n && n < 2 * low && n <= high && (n == 1 || high < 2 * n))) FAIL("n " << n);
    }
}
