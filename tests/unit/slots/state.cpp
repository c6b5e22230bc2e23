// The word of a heaplet: counting below zero, listing and noting once.
#include <support/catch.hpp>

#include <allot/slots/state.hpp>

#include <atomic>
#include <thread>
#include <vector>

using allot::detail::slot_state;

TEST_CASE("a page is listed once it has enough, and noted once it is empty", "[slots]") {
    slot_state s;
    s.reset(false);
    auto c = s.add_freed(1, 3, 5);
    CHECK_FALSE(c.list);
    CHECK_FALSE(c.note);
    c = s.add_freed(2, 3, 5);
    CHECK(c.list);
    CHECK_FALSE(c.note);
    CHECK(s.is_listed());
    c = s.add_freed(1, 3, 5);
    CHECK_FALSE(c.list);
    c = s.add_freed(1, 3, 5);
    CHECK_FALSE(c.list);
    CHECK(c.note);
    CHECK(s.is_noted());
    CHECK(s.freed() == 5);
    CHECK(s.empty_or_unnote(5));
    CHECK(s.is_noted());
    s.claim(1);
    CHECK_FALSE(s.empty_or_unnote(5));
    CHECK_FALSE(s.is_noted());
}

TEST_CASE("a page that is listed stays so while it has enough", "[slots]") {
    slot_state s;
    s.reset(true);
    CHECK_FALSE(s.try_list());
    static_cast<void>(s.add_freed(4, 3, 100));
    CHECK_FALSE(s.unlist_below(3));
    CHECK(s.is_listed());
    s.claim(2);
    CHECK(s.unlist_below(3));
    CHECK_FALSE(s.is_listed());
    CHECK(s.try_list());
}

TEST_CASE("a slot claimed before it is counted takes the count below zero, not to empty", "[slots]") {
    slot_state s;
    s.reset(false);
    s.claim(3);
    CHECK(s.freed() == -3);
    CHECK_FALSE(s.is_listed());
    CHECK_FALSE(s.empty_or_unnote(4));
    const auto c = s.add_freed(3, 1, 4);
    CHECK_FALSE(c.list);
    CHECK_FALSE(c.note);
    CHECK(s.freed() == 0);
}

TEST_CASE("of many releasers exactly one lists and one notes", "[slots][threads]") {
    constexpr int threads = 4, each = 1000;
    slot_state s;
    s.reset(false);
    std::atomic<int> lists{0}, notes{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&] {
            for (int i = 0; i < each; ++i) {
                const auto c = s.add_freed(1, 100, threads * each);
                lists += c.list;
                notes += c.note;
            }
        });
    for (auto& t : all) t.join();
    CHECK(lists == 1);
    CHECK(notes == 1);
    CHECK(s.freed() == threads * each);
}
