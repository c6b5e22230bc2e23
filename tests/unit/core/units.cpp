#include <support/catch.hpp>

#include <allot/core/units.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <ratio>
#include <type_traits>

using namespace allot::literals;
using namespace std::chrono_literals;

TEST_CASE("sizes are written as people write them") {
    STATIC_REQUIRE(1_KiB == 1024);
    STATIC_REQUIRE(3_MiB == 3 * 1024 * 1024);
    STATIC_REQUIRE(2_GiB == std::size_t{2} << 30);
    STATIC_REQUIRE(1_TiB == std::size_t{1} << 40);
    STATIC_REQUIRE(std::is_same_v<decltype(1_KiB), std::size_t>);
    STATIC_REQUIRE(16777215_TiB == SIZE_MAX - (std::size_t{1} << 40) + 1);
}

namespace {

template <allot::time_span Span> constexpr std::uint64_t ms_of = Span.ms; // a template argument, too

} // namespace

TEST_CASE("std::chrono's durations are spans of time, rounded up") {
    using namespace std::chrono;
    STATIC_REQUIRE(ms_of<10s> == 10'000);
    STATIC_REQUIRE(ms_of<allot::time_span{500ms}> == 500);
    const auto ms = [](allot::time_span span) { return span.ms; };
    CHECK(ms(2h) == 7'200'000);
    CHECK(ms(1us) == 1);
    CHECK(ms(1500us) == 2);
    CHECK(ms(2000us) == 2);
    CHECK(ms(nanoseconds::max()) == std::uint64_t{INT64_MAX} / 1'000'000 + 1);
    CHECK(ms(milliseconds::max()) == INT64_MAX);
    CHECK(ms(hours::max()) == UINT64_MAX);
    CHECK(ms(duration<std::uint64_t, std::milli>::max()) == UINT64_MAX);
    CHECK(ms(duration<std::uint64_t>::max()) == UINT64_MAX);
    CHECK(ms(0s) == 0);
    CHECK(ms(-1s) == 0);
    CHECK(ms(milliseconds::min()) == 0);
    CHECK(ms(duration<std::int64_t, std::ratio<1, 3>>{1}) == 334);
    CHECK(ms(duration<double>{0.25}) == 250);
    CHECK(ms(duration<double>{0.0001}) == 1);
    CHECK(ms(duration<double>{-1}) == 0);
    CHECK(ms(duration<double>{NAN}) == 0);
    CHECK(ms(duration<float>{1e30F}) == UINT64_MAX);
    CHECK(ms(duration<double>{INFINITY}) == UINT64_MAX);
}

TEST_CASE("spans of time are milliseconds") {
    STATIC_REQUIRE((500_ms).ms == 500);
    STATIC_REQUIRE((10_s).ms == 10'000);
    STATIC_REQUIRE((1'000_s).ms == 1'000'000);
}

TEST_CASE("a sum that does not fit says so and leaves the result alone") {
    std::size_t result = 7;
    CHECK(allot::detail::checked_add(SIZE_MAX - 1, 1, result));
    CHECK(result == SIZE_MAX);
    result = 7;
    CHECK_FALSE(allot::detail::checked_add(SIZE_MAX, 1, result));
    CHECK_FALSE(allot::detail::checked_add(1, SIZE_MAX, result));
    CHECK(result == 7);
}

TEST_CASE("a product that does not fit says so and leaves the result alone") {
    std::size_t result = 7;
    CHECK(allot::detail::checked_mul(std::size_t{1} << 32, (std::size_t{1} << 32) - 1, result));
    CHECK(result == (SIZE_MAX >> 32) << 32);
    CHECK(allot::detail::checked_mul(0, SIZE_MAX, result));
    CHECK(result == 0);
    CHECK(allot::detail::checked_mul(SIZE_MAX, 0, result));
    CHECK(allot::detail::checked_mul(SIZE_MAX, 1, result));
    CHECK(result == SIZE_MAX);
    result = 7;
    CHECK_FALSE(allot::detail::checked_mul(std::size_t{1} << 32, std::size_t{1} << 32, result));
    CHECK_FALSE(allot::detail::checked_mul(SIZE_MAX, 2, result));
    CHECK(result == 7);
}

TEST_CASE("a name that is null is an empty one") {
    STATIC_REQUIRE(allot::name{"rows"}.text[0] == 'r');
    STATIC_REQUIRE(allot::name{nullptr}.text[0] == '\0');
    STATIC_REQUIRE_FALSE(std::is_convertible_v<const char*, allot::name>); // a text among values is no name
}
