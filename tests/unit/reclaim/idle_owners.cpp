// Objects whose idle memory requests of others return: which are called, and which no longer.
#include <support/catch.hpp>

#include <allot/reclaim/idle_owners.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

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

TEST_CASE("an owner that has left is not called", "[reclaim][retain]") {
    struct shared_object {
        std::atomic<bool> alive{true};
        std::atomic<std::uint32_t>* late = nullptr;
        std::size_t trim_idle() noexcept {
            for (int i = 0; i < 100; ++i)
                if (!alive.load(std::memory_order_relaxed)) late->fetch_add(1, std::memory_order_relaxed);
            return 0;
        }
    };
    idle_owners all;
    std::atomic<std::uint32_t> late{0};
    std::atomic<bool> ends{false};
    const auto comes_and_leaves = [&] {
        for (int i = 0; i < 2000; ++i) {
            shared_object o;
            o.late = &late;
            idle_entry<shared_object, true> e{o};
            all.add(e);
            (void)all.return_some_of_others(e, 2);
            all.remove(e);
            o.alive.store(false, std::memory_order_relaxed);
        }
    };
    std::thread requests{[&] {
        shared_object own;
        own.late = &late;
        idle_entry<shared_object, true> e{own};
        all.add(e);
        while (!ends.load(std::memory_order_relaxed)) (void)all.return_some_of_others(e, 8);
        all.remove(e);
    }};
    std::thread other{comes_and_leaves};
    comes_and_leaves();
    other.join();
    ends = true;
    requests.join();
    CHECK(late == 0);
}
