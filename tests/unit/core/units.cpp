#include <support/catch.hpp>

#include <allot/core/units.hpp>

#include <cstdint>
#include <type_traits>

using namespace allot::literals;

TEST_CASE("sizes are written as people write them") {
    STATIC_REQUIRE(1_KiB == 1024);
    STATIC_REQUIRE(3_MiB == 3 * 1024 * 1024);
    STATIC_REQUIRE(2_GiB == std::size_t{2} << 30);
    STATIC_REQUIRE(1_TiB == std::size_t{1} << 40);
    STATIC_REQUIRE(std::is_same_v<decltype(1_KiB), std::size_t>);
    STATIC_REQUIRE(16777215_TiB == SIZE_MAX - (std::size_t{1} << 40) + 1);
}

TEST_CASE("spans of time are milliseconds") {
    STATIC_REQUIRE((500_ms).ms == 500);
    STATIC_REQUIRE((10_s).ms == 10'000);
    STATIC_REQUIRE((1'000_s).ms == 1'000'000);
}

TEST_CASE("a sum that does not fit says so and leaves the result alone") {
    std::size_t result = 7;
    CHECK(allot::checked_add(SIZE_MAX - 1, 1, result));
    CHECK(result == SIZE_MAX);
    result = 7;
    CHECK_FALSE(allot::checked_add(SIZE_MAX, 1, result));
    CHECK_FALSE(allot::checked_add(1, SIZE_MAX, result));
    CHECK(result == 7);
}

TEST_CASE("a product that does not fit says so and leaves the result alone") {
    std::size_t result = 7;
    CHECK(allot::checked_mul(std::size_t{1} << 32, (std::size_t{1} << 32) - 1, result));
    CHECK(result == (SIZE_MAX >> 32) << 32);
    CHECK(allot::checked_mul(0, SIZE_MAX, result));
    CHECK(result == 0);
    CHECK(allot::checked_mul(SIZE_MAX, 0, result));
    CHECK(allot::checked_mul(SIZE_MAX, 1, result));
    CHECK(result == SIZE_MAX);
    result = 7;
    CHECK_FALSE(allot::checked_mul(std::size_t{1} << 32, std::size_t{1} << 32, result));
    CHECK_FALSE(allot::checked_mul(SIZE_MAX, 2, result));
    CHECK(result == 7);
}
