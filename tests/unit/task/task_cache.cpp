// Caches between tasks: order, what readers wait for, sources, and a group that fails.
#include <support/catch.hpp>
#include <support/task_engine.hpp>
#include <support/tasks.hpp>

#include <allot/spill/stored_buffer.hpp>
#include <allot/task/task_cache.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
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
using support::part;
using support::until;

namespace {

using fixture = support::task_engine;

} // namespace

TEST_CASE("a cache gives what was put, in order, until it is finished and empty", "[task][cache]") {
    task_cache<part> cache;
    cache.put({1, 2}), cache.put({2, 4}), cache.put({4, 8});
    CHECK((cache.size() == 3 && cache.wait_for(3)));
    CHECK((cache.pull() == part{1, 2} && cache.try_pull() == part{2, 4}));
    CHECK((cache.wait_for(3) && cache.pull() == part{4, 8} && !cache.try_pull()));
    std::optional<part> last;
    {
        const std::jthread waits([&] { last = cache.pull(); });
        cache.put({7, 9});
    }
    CHECK(last == part{7, 9});
    {
        const std::jthread waits([&] { last = cache.pull_any(); });
        cache.finish();
    }
    cache.put({0, 1});
    CHECK(
        (!last && !cache.pull() && !cache.wait_for(5) && cache.wait_for(4) && cache.is_finished() && !cache.is_cut()));
    cache.finish();
}

TEST_CASE("what is in memory is taken first, if any will do; several make one input", "[task][cache]") {
    fixture f;
    task_cache<batch> cache;
    for (std::size_t i = 1; i <= 4; ++i) {
        batch b = f.put(f.engine, i * 1000);
        if (i != 3) CHECK(b.spill());
        cache.put(std::move(b));
    }
    CHECK(cache.pull_any()->bytes() == 3000);
    CHECK(cache.pull_any()->bytes() == 1000); // none is: the first
    const std::vector<batch> two = cache.pull_bytes(2001);
    CHECK((two.size() == 2 && cache.size() == 0));
    cache.put(f.put(f.engine, 10));
    cache.finish();
    CHECK(cache.pull_bytes(1000).size() == 1);
    CHECK(cache.pull_bytes(1000).empty());
}

TEST_CASE("a source makes its item when it is taken, and stays where that fails", "[task][cache]") {
    task_cache<part> cache;
    int calls = 0;
    cache.put_source([&]() -> part {
        if (++calls == 1) throw std::runtime_error("no memory");
        return {3, 4};
    });
    cache.put({5, 6});
    CHECK(calls == 0);
    CHECK_THROWS_AS(cache.pull(), std::runtime_error);
    CHECK((cache.size() == 2 && cache.pull() == part{3, 4} && cache.pull() == part{5, 6}));
}

TEST_CASE("tasks fill a cache, and others wait for it without a thread", "[task][cache]") {
    for (const unsigned threads : {0U, 3U}) {
        fixture f;
        executor run{f.tasks, f.engine, {.threads = threads}};
        std::atomic<int> sum{0}, blocked{0};
        {
            task_group makes{run, name{"makes"}}, takes{run, name{"takes"}, 1};
            task_cache<batch> cache{makes};
            for (int i = 0; i != 4; ++i) // they come first, and find nothing
                takes.add({}, [&](task_step& step) {
                    for (;;) {
                        if (cache.awaits(step)) return ++blocked, task_outcome::would_block;
                        const std::optional<batch> b = cache.try_pull();
                        if (b) sum += static_cast<int>(b->bytes());
                        else if (cache.is_finished()) return task_outcome::done;
                    }
                });
            for (int i = 1; i <= 100; ++i)
                makes.add({.output = 1000}, [&] { return f.put(f.engine, 10); }, cache.sink());
            makes.wait();
            cache.finish();
            takes.wait();
        }
        CHECK((sum == 1000 && blocked > 0 && run.stats().parked == 0));
    }
}

TEST_CASE("readers of a group that fails get nothing more", "[task][cache]") {
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 1}};
    task_group makes{run, name{"makes"}};
    task_cache<part> cache{makes};
    std::optional<part> got = part{};
    {
        const std::jthread waits([&] { got = cache.pull(); });
        makes.add({}, [] { throw std::runtime_error("broken"); });
        CHECK_THROWS_AS(makes.wait(), allot::task_error);
    }
    CHECK((!got && cache.is_cut() && cache.is_finished()));
}

TEST_CASE("a cache of a group that has ended is cut; one that ends before its tasks ends them", "[task][cache]") {
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 1}};
    task_group makes{run, name{"makes"}};
    std::atomic<bool> begun{false};
    std::atomic<int> ran{0};
    {
        task_cache<part> cache{makes};
        makes.add({}, [&] {
            begun = true;
            until([&] { return cache.is_cut(); });
            cache.put({1, 2});
            ++ran;
        });
        for (int i = 0; i != 5; ++i) makes.add({}, [&] { cache.put({1, 2}), ++ran; });
        until([&] { return begun.load(); });
    } // as where an exception passes
    CHECK(ran == 1);
    const task_cache<part> late{makes};
    CHECK((late.is_finished() && late.is_cut()));
}

TEST_CASE("a reader runs tasks itself where the executor has no threads; several items stay where a source throws",
          "[task][cache]") {
    fixture f;
    executor run{f.tasks, f.engine};
    task_group makes{run, name{"makes"}};
    task_cache<part> cache{makes};
    makes.add({}, [] { return part{7, 8}; }, cache.sink());
    CHECK(cache.pull() == part{7, 8});
    cache.put({0, 1}), cache.put({1, 2});
    cache.put_source([]() -> part { throw std::runtime_error("no memory"); });
    CHECK_THROWS_AS(cache.pull_bytes(100), std::runtime_error);
    CHECK((cache.size() == 3 && cache.pull() == part{0, 1} && cache.pull_bytes(0).empty()));
}

TEST_CASE("a reader of an executor without threads runs what others add, or wake", "[task][cache]") {
    for (const bool by_waker : {true, false}) {
        fixture f;
        executor run{f.tasks, f.engine};
        task_group query{run, name{"query"}};
        task_cache<batch> made{query};
        std::optional<allot::task_waker> wakes;
        if (by_waker)
            query.add({}, [&, again = false](task_step& step) mutable {
                if (std::exchange(again, true)) return made.put(f.put_number(step.memory(), 7)), task_outcome::done;
                wakes = step.waker();
                return task_outcome::would_block;
            });
        run.drain(); // it is parked
        std::jthread other([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(10)); // the reader sleeps
            if (by_waker) (*wakes)();
            else query.add({}, [&](task_step& step) { made.put(f.put_number(step.memory(), 7)); });
        });
        CHECK(made.wait_for(1));
        const std::optional<batch> b = made.pull();
        CHECK((b && b->pin()->get<std::uint64_t>(0) == 7));
        other.join();
        query.wait();
    }
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    task_cache<batch> made{query};
    std::jthread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        made.put(f.put_number(f.engine, 8)); // no task
    });
    CHECK(made.pull().has_value());
}
