// Compiled alone: it asks for the names of its own types.
#include <support/catch.hpp>

#include <allot/core/category/size.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/type_name.hpp>

#include <cstring>

namespace shop {
struct order {};
template <class T> struct box {};
} // namespace shop
struct outside : allot::policies<> {};

TEST_CASE("types are named as in the source") {
    CHECK(allot::type_name<int>() == "int");
    CHECK(allot::type_name<outside>() == "outside");
    CHECK(allot::type_name<shop::order>() == "shop::order");
    CHECK(allot::type_name<shop::box<shop::order>>() == "shop::box<shop::order>");
}

TEST_CASE("the inline namespace does not show") {
    CHECK(allot::type_name<allot::size::packed>() == "allot::size::packed");
    CHECK(allot::type_name<shop::box<allot::size::packed>>() == "shop::box<allot::size::packed>");
    CHECK(allot::type_name<allot::with<outside, shop::box<allot::size::exact>>>() ==
          "allot::with<outside, shop::box<allot::size::exact>>");
}

TEST_CASE("a name is a constant that ends in NUL") {
    STATIC_REQUIRE(allot::type_name<shop::order>().size() == 11);
    CHECK(std::strcmp(allot::detail::type_name_c_str<shop::order>(), "shop::order") == 0);
}
