#include <support/catch.hpp>

#include <allot/sync/walked_list.hpp>

#include <array>
#include <vector>

namespace {

struct node {
    int number = 0;
    allot::list_hook<node> place;
};
using list = allot::walked_list<node, &node::place>;

} // namespace

TEST_CASE("a walked list changes under its walks", "[sync]") {
    std::array<node, 6> nodes;
    list all;
    for (int i = 0; i < 5; ++i) {
        nodes[static_cast<std::size_t>(i)].number = i;
        all.add(nodes[static_cast<std::size_t>(i)]);
    }
    std::vector<int> seen, inner;
    all.for_each([&](node& n) {
        seen.push_back(n.number);
        if (n.number != 3) return;
        all.remove(nodes[2]); // the next one
        all.remove(nodes[3]); // this one
        all.add(nodes[3]);    // in front: not visited again
        all.for_each([&](node& m) {
            inner.push_back(m.number);
            if (m.number == 1) all.remove(nodes[0]); // the next of the inner walk
            if (m.number == 4) all.remove(nodes[1]), all.add(nodes[1]);
        });
    });
    CHECK(seen == std::vector{4, 3, 0});
    CHECK(inner == std::vector{3, 4, 0});
}
