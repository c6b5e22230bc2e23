// An executor counts what is in use: what objects keep and do not use, and can return, leaves when a task needs it.
#include <support/catch.hpp>
#include <support/device_sets.hpp>
#include <support/rescue.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>
#include <allot/task/executor.hpp>
#include <allot/task/task_group.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::executor;
using allot::limit;
using allot::name;
using allot::task_group;
using allot::task_step;

namespace {

struct plain : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct pooled : allot::policies<allot::ledger::pool, allot::fit::runs, allot::oom::null> {};
struct keeps : allot::policies<allot::ledger::tree, allot::retain::never, allot::oom::null> {};
struct device_pool : allot::policies<on_simulated, allot::order::stream, allot::ledger::pool, allot::oom::null> {};

struct engine {
    allot::oom::arbiter tasks;
    account memory{name{"engine"}, limit{64_MiB}, tasks};
};

// Runs tasks of 12 MiB, of which `width` are to run at once: each waits for the others. Returns how many ran at most.
int most_at_once(engine& e, int width) {
    const support::rescue ends{"tasks that wait for others to start"};
    executor run{e.tasks, e.memory, {.threads = 6}};
    task_group all{run, name{"all"}};
    std::atomic<int> now{0}, most{0}, came{0};
    for (int i = 0; i != 2 * width; ++i)
        all.add({.name = "small", .output = 12_MiB}, [&, i](task_step& step) {
            const int n = ++now;
            for (int m = most; n > m && !most.compare_exchange_weak(m, n);) {
            }
            ++came;
            while (came < (i < width ? width : 2 * width)) std::this_thread::yield();
            step.memory().charge(11_MiB);
            step.memory().refund(11_MiB);
            --now;
        });
    all.wait();
    CHECK(run.stats().ran_out == 0);
    return most;
}
// Allocates that many bytes, and frees them.
template <class Take, class Give> void use(std::size_t bytes, std::size_t each, Take take, Give give) {
    std::vector<decltype(take(each))> all;
    for (std::size_t n = 0; n < bytes; n += each) all.push_back(take(each));
    for (auto& one : all) give(one);
}
template <class Rows> void use_rows(Rows& rows, std::size_t bytes, std::size_t each) {
    use(bytes, each, [&](std::size_t n) { return rows.allocate(n); }, [&](void* row) { rows.release(row); });
}

} // namespace

TEST_CASE("tasks start beside what rows have used and released", "[task][executor][unused]") {
    for (const std::size_t each : {std::size_t{100}, std::size_t{2'000}, std::size_t{900'000}}) {
        engine e;
        allot::row_manager<plain> rows{e.memory};
        use_rows(rows, 50_MiB, each);
        REQUIRE(e.memory.used() > 40_MiB);
        CHECK(most_at_once(e, 4) >= 4);
    }
}

TEST_CASE("tasks start beside what blocks and buffers have used and returned", "[task][executor][unused]") {
    for (const std::size_t each : {std::size_t{2'000}, std::size_t{100'000}, std::size_t{1'000'000}}) {
        engine e;
        {
            allot::chunk_arena<plain> blocks{e.memory};
            use(
                45_MiB, each, [&](std::size_t n) { return blocks.allocate(n); },
                [&](auto& b) { blocks.deallocate(b); });
            REQUIRE(e.memory.used() > 40_MiB);
            CHECK(most_at_once(e, 4) >= 4);
        }
        allot::chunk_arena<pooled> pool{e.memory, allot::chunk_bytes{1_MiB}};
        allot::buffer_memory memory{pool};
        use(
            45_MiB, each, [&](std::size_t n) { return memory.allocate(e.memory, n); },
            [](allot::buffer& b) { b.release(); });
        REQUIRE(e.memory.used() > 40_MiB);
        CHECK(most_at_once(e, 4) >= 4);
    }
}

TEST_CASE("tasks start beside pieces of a device that no stream uses", "[task][executor][unused][device]") {
    allocator_machine m;
    engine e;
    allot::device_allocator<device_pool> gpu{m.api, e.memory};
    use(45_MiB, 3_MiB, [&](std::size_t n) { return gpu.allocate(n, m.a); }, [&](void* p) { gpu.deallocate(p, m.a); });
    REQUIRE(m.api.synchronize(m.a));
    REQUIRE(e.memory.used() > 40_MiB);
    CHECK(most_at_once(e, 4) >= 4);
    gpu.leave(m.a);
}

TEST_CASE("what an object never returns, and what handles keep, is in use", "[task][executor][unused]") {
    engine e;
    SECTION("pages that stay") {
        allot::row_manager<keeps> rows{e.memory};
        use_rows(rows, 30_MiB, 900'000);
        REQUIRE(e.memory.used() >= 30_MiB);
        CHECK(most_at_once(e, 2) == 2);
    }
    SECTION("slots of handles that nobody uses") {
        allot::row_manager<plain> rows{e.memory};
        struct handle {
            explicit handle(allot::row_manager<plain>& of) : rows(of.local()) {}
            allot::local_rows<plain> rows;
        };
        std::deque<handle> handles;
        for (int i = 0; i != 10; ++i) use_rows(handles.emplace_back(rows).rows, 4_MiB, 2'000);
        CHECK(most_at_once(e, 3) >= 3); // their slots keep some pages
    }
}
