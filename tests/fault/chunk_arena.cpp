// Every call to the system fails once: a chunk arena is made or tells that it cannot be, a request is met or refused,
// and nothing is left behind. Without membarrier threads fence by themselves.
#include <support/catch.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>

#include <thread>
#include <vector>

using namespace allot::literals;
namespace fault = allot::detail::sys::fault;

namespace {

struct runs : allot::policies<allot::fit::runs, allot::oom::null> {};
struct own : allot::policies<allot::fit::buddy, allot::heap::per_thread, allot::oom::null, allot::retain::on_pressure> {
};
struct in_tree : allot::policies<allot::fit::runs, allot::ledger::tree, allot::oom::null> {};

template <class Set> void scene() {
    allot::chunk_arena<Set> blocks{allot::limit{64_MiB}, allot::page_bytes{256_KiB}};
    for (int round = 0; round != 2; ++round) {
        std::vector<void*> all;
        for (std::size_t i = 0; i != 200; ++i) {
            const std::size_t n = i % 50 == 0 ? 3_MiB : i % 7 == 0 ? 200'000 : 1000;
            const auto before = blocks.stats();
            if (void* const p = blocks.allocate(n).address) {
                static_cast<char*>(p)[n - 1] = 1;
                all.push_back(p);
            } else {
                REQUIRE(fault::has_failed());
                REQUIRE(blocks.stats().live == before.live);
            }
            REQUIRE(blocks.valid());
        }
        for (void* const p : all) blocks.deallocate(p);
        REQUIRE(blocks.stats().live == 0);
        blocks.trim();
        REQUIRE(blocks.valid());
    }
}

template <class Set> std::uint64_t fail_each() {
    fault::fail_nth(0);
    scene<Set>();
    for (std::uint64_t n = 1;; ++n) {
        fault::fail_nth(n);
        try {
            scene<Set>();
        } catch (const allot::out_of_memory&) {
            CHECK(fault::has_failed());
        }
        const bool has_failed = fault::has_failed();
        fault::fail_nth(0);
        if (!has_failed) return n - 1;
        REQUIRE(n < 1000);
    }
}

} // namespace

TEST_CASE("a chunk arena outlives each call to the system that fails", "[chunks][fault]") {
    CHECK(fail_each<runs>() > 5);
    CHECK(fail_each<own>() > 6);
    CHECK(fail_each<in_tree>() > 5);
}

TEST_CASE("an idle thread's cache is emptied without membarrier, and left alone where its fence fails",
          "[chunks][fault]") {
    for (const bool without : {true, false}) {
        allot::chunk_arena<own> blocks{allot::limit{64_MiB}};
        std::atomic<int> step{0};
        std::thread idle{[&] {
            std::vector<void*> all;
            for (int i = 0; i != 31; ++i) all.push_back(blocks.allocate(1000).address);
            fault::fail_nth(without ? 1 : 0); // the thread gets a cache, and asks whether there are fences
            for (int i = 0; i != 69; ++i) all.push_back(blocks.allocate(1000).address);
            CHECK_ON_THREAD(fault::has_failed() == without);
            for (void* const p : all) blocks.deallocate(p);
            step = 1;
            step.notify_all();
            step.wait(1);
        }};
        step.wait(0);
        fault::fail_nth(without ? 0 : 1);
        blocks.trim();
        CHECK(fault::has_failed() == !without);
        fault::fail_nth(0);
        CHECK((blocks.stats().cached == 0) == without);
        blocks.trim();
        CHECK(blocks.stats().cached == 0);
        step = 2;
        step.notify_all();
        idle.join();
        CHECK(blocks.stats().charged == 0);
    }
}
