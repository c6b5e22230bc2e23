// Groups of tasks share too little memory on eight threads: estimates are wrong, inputs leave, groups fail and are
// cancelled, and all that goes on ends with the right sums.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/task/task_cache.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::executor;
using allot::limit;
using allot::name;
using allot::task_cache;
using allot::task_group;
using allot::task_outcome;
using allot::task_step;
using batch = allot::stored<allot::buffer>;

namespace {

struct engine {
    allot::oom::arbiter tasks;
    account memory{name{"engine"}, limit{1_MiB}, tasks}, disk{name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory blocks{heap};
    allot::spill_memory far{blocks, disk};
    allot::store data{memory, far, name{"data"}};

    batch put(account& by, std::size_t bytes, unsigned char with) {
        allot::buffer b = blocks.allocate(by, bytes);
        std::memset(b.data(), with, bytes);
        return data.put(std::move(b));
    }
};

// A query in two stages: batches are copied, then added up from the cache between.
struct query {
    query(engine& all, executor& run, std::uint64_t seed)
        : random(seed), e(all), group(run, name{"query"}, static_cast<std::int64_t>(seed % 3)), copies(group) {}

    void add_all() {
        for (int i = 0; i != 6; ++i) {
            std::vector<batch> in;
            std::size_t bytes = 0;
            for (std::size_t n = 1 + random() % 3; n != 0; --n) {
                const std::size_t size = 1 + random() % 60'000;
                const auto with = static_cast<unsigned char>(random() % 200);
                try {
                    in.push_back(e.put(group.memory(), size, with));
                } catch (const allot::memory_error&) {
                    continue; // no task: memory is short, and nothing can leave
                }
                expected += with, bytes += size;
            }
            const std::size_t more = random() % 200'000, says = random() % 3 == 0 ? 0 : more;
            group.add(
                {.name = "copy", .output = bytes, .overhead = says}, std::move(in),
                [this, more, bytes](std::span<batch::pinned> all, task_step& step) {
                    allot::buffer table = e.blocks.allocate(step.memory(), more + 1);
                    std::uint64_t its = 0;
                    for (const auto& b : all) its += std::to_integer<std::uint64_t>(b->bytes().back());
                    table.release();
                    allot::buffer out = e.blocks.allocate(step.memory(), bytes + 8);
                    out.set(0, its);
                    return e.data.put(std::move(out));
                },
                copies.sink());
        }
        for (int i = 0; i != 2; ++i) // takes no memory, so it is never begun again
            group.add({.name = "next"}, [this](task_step& step) {
                while (std::optional<batch> b = copies.try_pull()) {
                    std::vector<batch> one;
                    one.push_back(*std::move(b));
                    group.add(
                        {.name = "sum"}, std::move(one),
                        [](std::span<batch::pinned> data) { return data[0]->get<std::uint64_t>(0); },
                        [this](std::uint64_t its) { sum += its; });
                    if (++copied == 6) copies.finish();
                }
                return copies.awaits(step) ? task_outcome::would_block : task_outcome::done;
            });
    }

    std::mt19937_64 random;
    engine& e;
    std::uint64_t expected = 0;
    std::atomic<std::uint64_t> sum{0};
    std::atomic<int> copied{0};
    task_group group;
    task_cache<batch> copies;
};

} // namespace

TEST_CASE("queries share too little memory on eight threads, and end", "[task][threads]") {
    const support::rescue ends{"queries on eight threads", std::chrono::seconds(300)};
    engine e;
    {
        executor run{e.tasks, e.memory, {.threads = 8}};
        for (std::uint64_t seed = 1; seed != 13; ++seed) {
            std::vector<std::unique_ptr<query>> all;
            for (std::uint64_t q = 0; q != 5; ++q) all.push_back(std::make_unique<query>(e, run, seed * 10 + q));
            for (auto& q : all) q->add_all();
            all[0]->group.cancel();
            all[1]->group.add({.name = "bad"}, [] { throw std::runtime_error("bad"); });
            for (std::size_t q = 1; q != all.size(); ++q) {
                bool failed = false;
                try {
                    all[q]->group.wait();
                } catch (const allot::task_error& error) {
                    failed = true;
                    if (q != 1) FAIL(error.what());
                }
                CHECK((failed == (q == 1) && (failed || all[q]->sum == all[q]->expected)));
            }
        }
        CHECK((run.stats().waiting == 0 && run.stats().running == 0 && run.stats().parked == 0));
    }
    CHECK((e.memory.used() == 0 && e.disk.used() == 0 && e.memory.peak() <= 1_MiB));
}

TEST_CASE("tasks of a group run out of memory while others of it end well", "[task][threads]") {
    const support::rescue ends{"a group whose tasks begin again"};
    for (int round = 0; round != 10; ++round) {
        allot::oom::arbiter tasks;
        account memory{name{"engine"}, limit{64_MiB}, tasks};
        executor run{tasks, memory, {.threads = 4}};
        task_group query{run, name{"query"}};
        for (int i = 0; i != 200; ++i)
            query.add({.name = "scan", .output = 1000}, [i](task_step& step) {
                if (i < 5 && step.attempts() == 0) throw std::bad_alloc();
                std::this_thread::sleep_for(std::chrono::microseconds(50)); // others end meanwhile
            });
        query.wait();
        CHECK(run.stats().done == 200);
        CHECK(run.stats().ran_out == 5);
    }
}
