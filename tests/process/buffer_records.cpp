// What is kept about blocks of buffers is the thread's own in unchecked builds, 64 pieces at most, and goes with the
// thread.
#include <process/counted_new.hpp>

#include <support/catch.hpp>

#include <allot/buffers.hpp>
#include <allot/row_manager.hpp>

#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

constexpr bool checked = ALLOT_CHECKED != 0;

struct fixture {
    struct set : allot::policies<> {};
    allot::row_manager<set> rows{allot::limit{16_MiB}};
    allot::buffer_memory memory{rows};
    allot::account root{allot::name{"root"}, allot::limit{16_MiB}};
    std::vector<allot::buffer> views;

    fixture() { views.reserve(200); }
    void make(std::size_t n) {
        while (views.size() != n) views.push_back(memory.allocate(root, 1000));
    }
};
// Released by a destructor that runs after that of the thread's records, which were given back later first.
thread_local allot::buffer last_of_thread;

} // namespace

TEST_CASE("records of buffers: a thread has 64 at hand, and none where the build is checked", "[process][buffer]") {
    fixture f;
    f.make(100); // the rows are there
    f.views.clear();
    const std::ptrdiff_t before = held;
    f.make(100);
    const auto fresh = static_cast<std::size_t>(held - before);
    CHECK(fresh == (checked ? 100u : 36u));
    f.views.clear();
    CHECK(held == before);
    const std::size_t now = news;
    for (int i = 0; i != 1000; ++i) f.make(1), f.views.clear();
    CHECK(news - now == (checked ? 1000u : 0u));
}

TEST_CASE("records of buffers: what one thread makes another may release, and they go with the thread",
          "[process][buffer]") {
    fixture f;
    f.make(150);
    f.views.clear();
    const std::ptrdiff_t before = held;
    for (const std::size_t n : {1u, 150u}) { // fewer and more than a thread keeps
        f.make(n);
        std::thread{[&] {
            last_of_thread = f.memory.allocate(f.root, 1000);
            f.views.clear();
        }}.join();
        CHECK(f.root.used() == 0);
        f.make(64);
        f.views.clear();
        CHECK(held == before);
    }
}
