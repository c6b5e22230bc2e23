#include <support/catch.hpp>

#include <allot/sync/mpsc_stack.hpp>
#include <allot/sync/spin_lock.hpp>

#include <mutex>

namespace {

struct node {
    int value = 0;
    std::atomic<node*> link{nullptr};
};

} // namespace

TEST_CASE("a spin lock that is held is not taken twice", "[sync]") {
    allot::detail::spin_lock lock;
    {
        const std::lock_guard hold(lock);
        CHECK_FALSE(lock.try_lock());
    }
    CHECK(lock.try_lock());
    CHECK_FALSE(lock.try_lock());
    lock.unlock();
    STATIC_REQUIRE(sizeof lock == 4);
}

TEST_CASE("a stack gives all it has, the last one first", "[sync]") {
    allot::detail::mpsc_stack<node, &node::link> stack;
    STATIC_REQUIRE(sizeof stack == sizeof(void*));
    CHECK(stack.empty());
    CHECK(stack.take_all() == nullptr);
    node nodes[5];
    for (int i = 0; i < 5; ++i) {
        nodes[i].value = i;
        stack.push(&nodes[i]);
    }
    CHECK_FALSE(stack.empty());
    int expected = 4;
    for (node* n = stack.take_all(); n != nullptr; n = n->link.load()) CHECK(n->value == expected--);
    CHECK(expected == -1);
    CHECK(stack.empty());
    stack.push(&nodes[2]); // a node may come again
    CHECK(stack.take_all() == &nodes[2]);
    CHECK(nodes[2].link.load() == nullptr);
}
