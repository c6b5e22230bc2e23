#include <support/catch.hpp>

#include <allot/core/row_type.hpp>

#include <string_view>

namespace {

int destroyed = 0;
struct plain {
    char c;
};
struct owning {
    long number;
    ~owning() { ++destroyed; }
};
struct alignas(32) wide {
    char c[32];
};

} // namespace

TEST_CASE("a type that needs no destructor has none") {
    STATIC_REQUIRE(allot::row_type_of<plain>.destroy == nullptr);
    CHECK(allot::row_type_of<owning>.destroy != nullptr);
}

TEST_CASE("the destructor runs through the row type") {
    alignas(owning) unsigned char space[sizeof(owning)];
    owning* const row = new (space) owning{1};
    allot::row_type_of<owning>.destroy(row);
    CHECK(destroyed == 1);
}

TEST_CASE("rows are aligned as their type asks, to 4 bytes at least") {
    CHECK(allot::row_type_of<plain>.align == 4);
    CHECK(allot::row_type_of<long>.align == 8);
    CHECK(allot::row_type_of<wide>.align == 32);
    CHECK(allot::row_type{}.align == 0); // as the heap has it
}

TEST_CASE("a row type is named after its type and is one object") {
    CHECK(std::string_view{allot::row_type_of<int>.name} == "int");
    CHECK(&allot::row_type_of<int> == &allot::row_type_of<int>);
}
