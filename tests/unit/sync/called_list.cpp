// A list whose objects are called without its lock: which are called, in which order, and when one is removed.
#include <support/catch.hpp>

#include <allot/sync/called_list.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/mutex.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

using allot::detail::walk_step;

namespace {

struct node {
    int number = 0;
    int cost = 0;
    allot::detail::called_hook<node> place;
};
using list = allot::detail::called_list<node, &node::place>;
using walk = list::walk<allot::detail::spin_lock>;

constexpr auto by_cost = [](const node& a, const node& b) { return a.cost < b.cost; };
constexpr auto all_of_them = [](const node&) { return walk_step::call; };

// Nodes 0, 1, ... on a list.
template <std::size_t N> struct some {
    allot::detail::spin_lock lock;
    list all;
    std::array<node, N> nodes;

    explicit some(std::array<int, N> costs = {}) {
        for (std::size_t i = 0; i != N; ++i) {
            nodes[i].number = static_cast<int>(i);
            nodes[i].cost = costs[i];
            all.add(lock, nodes[i], by_cost);
        }
    }
    std::vector<int> order() {
        std::vector<int> numbers;
        all.for_each(lock, [&](node& n) { numbers.push_back(n.number); });
        return numbers;
    }
    bool valid() const { return all.valid(by_cost); }
    void clear() {
        while (all.pop(lock) != nullptr) continue;
        CHECK(all.empty());
    }
};

} // namespace

TEST_CASE("a called list is small", "[sync]") {
    STATIC_REQUIRE(sizeof(allot::detail::called_hook<node>) == 32);
    STATIC_REQUIRE(sizeof(list) == 24);
}

TEST_CASE("objects are called in their order, equals in that of their addition", "[sync]") {
    some<7> s{{5, 0, 2, 0, 2, 9, 0}};
    CHECK(s.order() == std::vector{1, 3, 6, 2, 4, 0, 5});
    CHECK(s.valid());
    s.all.add(s.lock, s.nodes[3], by_cost); // is on the list
    CHECK(s.all.remove(s.lock, s.nodes[1]));
    CHECK(s.all.remove(s.lock, s.nodes[5]));
    CHECK(s.all.remove(s.lock, s.nodes[2]));
    CHECK(s.all.remove(s.lock, s.nodes[2])); // is on no list
    CHECK(s.valid());
    CHECK(s.order() == std::vector{3, 6, 4, 0});
    s.all.add(s.lock, s.nodes[1], by_cost);
    CHECK(s.order() == std::vector{3, 6, 1, 4, 0});
    std::vector<int> locked;
    s.all.visit_locked([&](const node& n) { locked.push_back(n.number); });
    CHECK(locked == s.order());
    s.clear();
    CHECK(s.order().empty());
    CHECK(s.valid());
}

TEST_CASE("a list works under each lock", "[sync]") {
    allot::detail::sys::mutex mutex{allot::detail::lock_rank::tree_shape};
    list all;
    node n;
    all.add(mutex, n);
    int calls = 0;
    all.for_each(mutex, [&](node&) { ++calls; });
    mutex.lock();
    CHECK(list::is_listed(n));
    CHECK_FALSE(list::is_called(n));
    mutex.unlock();
    CHECK(all.remove(mutex, n));
    CHECK(calls == 1);
}

TEST_CASE("a list changes under its walks", "[sync]") {
    some<6> s;
    std::vector<int> seen, inner;
    CHECK(s.all.remove(s.lock, s.nodes[5]));
    s.all.for_each(s.lock, [&](node& n) {
        seen.push_back(n.number);
        if (n.number != 1) return;
        CHECK(s.all.remove(s.lock, s.nodes[2]));       // the next one
        CHECK_FALSE(s.all.remove(s.lock, s.nodes[1])); // this one
        s.all.add(s.lock, s.nodes[1]);                 // behind all: not called again
        s.all.add(s.lock, s.nodes[5]);                 // was not on the list
        s.all.for_each(s.lock, [&](node& m) {
            inner.push_back(m.number);
            if (m.number == 3) CHECK(s.all.remove(s.lock, s.nodes[4])); // the next of both walks
            if (m.number == 1) CHECK_FALSE(s.all.remove(s.lock, s.nodes[0 + 1]));
        });
    });
    CHECK(seen == std::vector{0, 1, 3});
    CHECK(inner == std::vector{0, 3, 1, 5});
    CHECK(s.order() == std::vector{0, 3, 5});
    CHECK(s.valid());
    s.clear();
}

TEST_CASE("a walk calls what is wanted", "[sync]") {
    some<6> s{{0, 1, 1, 2, 2, 3}};
    const auto called = [&](auto wants) {
        std::vector<int> seen;
        walk w(s.all, s.lock);
        while (node* const n = w.next(wants)) seen.push_back(n->number);
        CHECK(w.next(wants) == nullptr);
        return seen;
    };
    CHECK(called([](const node& n) { return n.cost == 1 ? walk_step::skip : walk_step::call; }) ==
          std::vector{0, 3, 4, 5});
    CHECK(called([](const node& n) { return n.cost > 1 ? walk_step::end : walk_step::call; }) == std::vector{0, 1, 2});
    CHECK(called([](const node&) { return walk_step::skip; }).empty());
    s.clear();
}

TEST_CASE("a walk begins with its first step", "[sync]") {
    some<2> s;
    node late;
    late.number = 2;
    walk w(s.all, s.lock);
    s.all.add(s.lock, late);
    node* n = w.next(all_of_them);
    for (int i = 0; i != 3; ++i, n = w.next(all_of_them)) {
        CHECK(n->number == i);
        CHECK(list::is_called(*n));
    }
    CHECK(n == nullptr);
    CHECK_FALSE(list::is_called(late));
    s.clear();
}

TEST_CASE("an object goes behind its equals unless a walk would miss it", "[sync]") {
    some<5> s{{0, 1, 1, 1, 2}};
    CHECK(s.all.move_behind_equals(s.lock, s.nodes[1], by_cost));
    CHECK(s.order() == std::vector{0, 2, 3, 1, 4});
    CHECK(s.all.move_behind_equals(s.lock, s.nodes[1], by_cost)); // is the last of them
    CHECK(s.all.move_behind_equals(s.lock, s.nodes[0], by_cost)); // is alone
    CHECK(s.order() == std::vector{0, 2, 3, 1, 4});
    CHECK(s.valid());
    {
        walk w(s.all, s.lock);
        CHECK(w.next(all_of_them) == &s.nodes[0]);
        CHECK_FALSE(s.all.move_behind_equals(s.lock, s.nodes[2], by_cost)); // the next one
        CHECK_FALSE(s.all.move_behind_equals(s.lock, s.nodes[3], by_cost));
        CHECK(w.next(all_of_them) == &s.nodes[2]);
        CHECK(s.all.move_behind_equals(s.lock, s.nodes[2], by_cost)); // this one: not called again
        CHECK(w.next(all_of_them) == &s.nodes[3]);
        CHECK(w.next(all_of_them) == &s.nodes[1]);
        CHECK(w.next(all_of_them) == &s.nodes[4]);
        CHECK(s.all.move_behind_equals(s.lock, s.nodes[1], by_cost));
        CHECK(w.next(all_of_them) == nullptr);
    }
    CHECK(s.order() == std::vector{0, 3, 2, 1, 4});
    CHECK(s.valid());
    CHECK(s.all.remove(s.lock, s.nodes[1]));
    CHECK_FALSE(s.all.move_behind_equals(s.lock, s.nodes[1], by_cost)); // is on no list
    s.clear();
}

TEST_CASE("many equals are added fast", "[sync]") {
    allot::detail::spin_lock lock;
    list all;
    const std::unique_ptr<node[]> nodes{new node[40'000]};
    for (int i = 0; i != 40'000; ++i) {
        nodes[static_cast<std::size_t>(i)].cost = 1;
        all.add(lock, nodes[static_cast<std::size_t>(i)], by_cost);
    }
    CHECK(all.valid(by_cost));
    for (int i = 0; i != 40'000; ++i) CHECK(all.move_behind_equals(lock, nodes[static_cast<std::size_t>(i)], by_cost));
    while (all.pop(lock) != nullptr) continue;
}

TEST_CASE("removal waits for calls of other threads, and the end of a walk ends its call", "[sync]") {
    some<2> s;
    std::atomic<bool> called{false}, leaves{false};
    bool ended = false; // not atomic: removal orders it
    std::thread calls{[&] {
        walk w(s.all, s.lock);
        w.next(all_of_them);
        called = true;
        while (!leaves) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        ended = true;
    }};
    while (!called) std::this_thread::yield();
    CHECK(s.all.remove(s.lock, s.nodes[1])); // is not called
    leaves = true;
    CHECK(s.all.remove(s.lock, s.nodes[0]));
    CHECK(ended);
    calls.join();
    CHECK(s.all.empty());
}

TEST_CASE("calls that remove each other do not wait for each other", "[sync]") {
    some<2> s;
    std::atomic<int> inside{0}, waited{0};
    const auto removes = [&](std::size_t from, std::size_t other) {
        walk w(s.all, s.lock);
        w.next([&](const node& n) { return &n == &s.nodes[from] ? walk_step::call : walk_step::skip; });
        ++inside;
        while (inside != 2) std::this_thread::yield();
        waited += s.all.remove(s.lock, s.nodes[other]);
    };
    std::thread second{removes, 1, 0};
    removes(0, 1);
    second.join();
    CHECK(waited == 1);
    CHECK(s.all.empty());
    CHECK_FALSE(list::is_called(s.nodes[0]));
    CHECK_FALSE(list::is_called(s.nodes[1]));
}

TEST_CASE("a list is not empty while its only object goes behind its equals", "[sync]") {
    some<1> s;
    std::atomic<bool> stop{false}, begun{false};
    std::thread moves([&] {
        while (!stop) {
            static_cast<void>(s.all.move_behind_equals(s.lock, s.nodes[0], by_cost));
            begun = true;
        }
    });
    while (!begun) std::this_thread::yield();
    int seen_empty = 0;
    for (int i = 0; i != 200'000; ++i) seen_empty += s.all.empty();
    stop = true;
    moves.join();
    CHECK(seen_empty == 0);
    s.clear();
}
