// Objects whose idle memory requests of others return: which are called, and which no longer.
#include <support/catch.hpp>

#include <allot/account/idle_owners.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

using allot::detail::idle_entry;
using allot::detail::idle_owners;

namespace {

struct object {
    std::size_t has = 0, calls = 0;
    std::size_t trim_idle() noexcept {
        ++calls;
        return has == 0 ? 0 : has--;
    }
};
using entry = idle_entry<object, true>;

} // namespace

TEST_CASE("others are called in turn, until one returns memory", "[reclaim][retain]") {
    idle_owners all;
    object o[3];
    entry e[3]{entry{o[0]}, entry{o[1]}, entry{o[2]}};
    CHECK(all.return_some_of_others(e[0], 8) == 0); // the list is empty
    for (entry& one : e) all.add(one);
    CHECK(all.return_some_of_others(e[0], 8) == 0);
    CHECK(o[0].calls == 0);
    CHECK(o[1].calls == 1);
    CHECK(o[2].calls == 1);
    for (int i = 0; i < 4; ++i) (void)all.return_some_of_others(e[0], 1);
    CHECK(o[1].calls == 3);
    CHECK(o[2].calls == 3);
    o[1].has = o[2].has = 2;
    for (int i = 0; i < 4; ++i) CHECK(all.return_some_of_others(e[0], 8) != 0);
    CHECK(o[1].has + o[2].has == 0);
    all.remove(e[2]);
    const std::size_t before = o[2].calls;
    for (int i = 0; i < 4; ++i) (void)all.return_some_of_others(e[0], 8);
    CHECK(o[2].calls == before);
    all.remove(e[1]);
    CHECK(all.return_some_of_others(e[0], 8) == 0);
    CHECK(o[0].calls == 0);
    all.remove(e[0]);
}

TEST_CASE("a round calls each once, whether it returns memory or not", "[reclaim][retain]") {
    idle_owners all;
    CHECK(all.empty());
    all.return_some_of_all();
    object o[3];
    entry e[3]{entry{o[0]}, entry{o[1]}, entry{o[2]}};
    for (entry& one : e) all.add(one);
    CHECK_FALSE(all.empty());
    o[1].has = 2;
    for (std::size_t round = 1; round != 3; ++round) {
        all.return_some_of_all();
        for (const object& one : o) CHECK(one.calls == round);
    }
    for (entry& one : e) all.remove(one);
    CHECK(all.empty());
}

TEST_CASE("an owner that leaves waits for a call of it", "[reclaim][retain]") {
    struct slow_object {
        std::atomic<bool> called{false}, leaves{false}, alive{true}, late{false};
        std::size_t trim_idle() noexcept {
            called = true;
            while (!leaves) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
            late = !alive;
            return 0;
        }
    };
    idle_owners all;
    slow_object slow, own;
    idle_entry<slow_object, true> e{slow}, me{own};
    all.add(e);
    std::thread requests{[&] { (void)all.return_some_of_others(me, 1); }};
    while (!slow.called) std::this_thread::yield();
    slow.leaves = true;
    all.remove(e);
    slow.alive = false;
    requests.join();
    CHECK_FALSE(slow.late);
    CHECK(all.return_some_of_others(me, 8) == 0);
}

TEST_CASE("owners come and leave beside requests", "[reclaim][retain]") {
    struct short_object {
        std::atomic<bool> alive{true};
        std::size_t trim_idle() noexcept { return alive.load() ? 0 : 1; }
    };
    idle_owners all;
    std::atomic<bool> ends{false};
    std::atomic<std::size_t> late{0};
    const auto comes_and_leaves = [&] {
        for (int i = 0; i < 2000; ++i) {
            short_object o;
            idle_entry<short_object, true> e{o};
            all.add(e);
            late += all.return_some_of_others(e, 2);
            all.remove(e);
            o.alive = false;
        }
    };
    std::thread requests{[&] {
        short_object own;
        idle_entry<short_object, true> e{own};
        while (!ends) late += all.return_some_of_others(e, 8), all.return_some_of_all();
    }};
    std::thread other{comes_and_leaves};
    comes_and_leaves();
    other.join();
    ends = true;
    requests.join();
    CHECK(late == 0);
}
