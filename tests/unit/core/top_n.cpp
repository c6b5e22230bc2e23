// The largest of some values: which are kept, in which order, and how many are not.
#include <support/catch.hpp>

#include <allot/core/text.hpp>
#include <allot/core/top_n.hpp>

#include <cstddef>
#include <string_view>

namespace {

struct value {
    int weight = 0, number = 0;
};
using top_3 = allot::detail::top_n<value, 3>;

std::string_view text_of(const top_3& top, allot::text_writer& out) {
    for (const value& v : top) out.number(static_cast<std::size_t>(v.number)).put(' ');
    top.write_others(out, "values");
    return out.view();
}

} // namespace

TEST_CASE("the largest values are kept in order; of equal ones, the first is first") {
    char text[128];
    allot::text_writer out{text};
    top_3 top;
    CHECK(top.empty());
    int number = 0;
    const auto add = [&](int weight) { top.add({weight, ++number}, [](const value& v) { return v.weight; }); };
    SECTION("fewer than are kept") {
        add(1), add(2);
        CHECK(text_of(top, out) == "2 1 ");
    }
    SECTION("more than are kept") {
        add(5), add(7), add(5), add(1), add(6), add(5);
        CHECK(text_of(top, out) == "2 5 1     and 3 more values\n");
    }
    CHECK(!top.empty());
}
