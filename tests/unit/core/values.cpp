#include <support/catch.hpp>

#include <allot/core/policies.hpp>
#include <allot/core/product.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

using namespace allot;

namespace {

struct account {
    int charged = 0;
    account() = default;
    account(const account&) = delete;
    account& operator=(const account&) = delete;
};
struct sub_account : account {};

template <class... Vs> std::size_t limit_of(Vs&&... vs) { return value_or<limit>({77}, vs...).bytes; }

} // namespace

TEST_CASE("values are found in any order") {
    CHECK(limit_of(limit{5}, name{"a"}) == 5);
    CHECK(limit_of(name{"a"}, page_bytes{1}, limit{5}) == 5);
    CHECK(limit_of(name{"a"}) == 77);
    CHECK(limit_of() == 77);
}

TEST_CASE("an object is found by reference, also as what it derives from") {
    account a;
    sub_account b;
    limit most{5};
    CHECK(&detail::pick<account>(most, a) == &a);
    CHECK(&detail::pick<account>(b, most) == &b);
    detail::pick<account>(most, b).charged = 3;
    CHECK(b.charged == 3);
    STATIC_REQUIRE(std::is_same_v<decltype(detail::pick<account>(most, a)), account&>);
    STATIC_REQUIRE(given<account, limit&, sub_account&>);
    STATIC_REQUIRE_FALSE(given<account, limit&, name>);
}

TEST_CASE("bytes come as a span or as what converts to one") {
    std::array<std::byte, 64> space{};
    CHECK(detail::pick<std::span<std::byte>>(limit{5}, space).data() == space.data());
    CHECK(detail::pick<std::span<std::byte>>(std::span{space}, limit{5}).size() == 64);
    CHECK(detail::pick<std::span<std::byte>>(limit{5}, std::span<std::byte>{space}).size() == 64);
}

TEST_CASE("strong types do not convert into each other") {
    STATIC_REQUIRE_FALSE(given<limit, page_bytes, reserve_bytes, name, std::size_t, int>);
}

TEST_CASE("values that a set can use pass without a word") {
    account a;
    const auto pass = [](auto&&... vs) {
        detail::check_values<product::row_manager, policies<>, types<limit, name, account>, decltype(vs)...>();
        detail::check_needed<product::row_manager, policies<>, types<limit>, decltype(vs)...>();
        return sizeof...(vs);
    };
    CHECK(pass(limit{5}, a) == 2);
    CHECK(pass(name{"a"}, limit{5}) == 2);
    CHECK(pass(limit{5}) == 1);
}
