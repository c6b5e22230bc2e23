// Threads of one task, real ones: workers that join the scope of the thread that waits for them, latches, and the log
// of what was decided.
#include <support/catch.hpp>
#include <support/tasks.hpp>

#include <allot/oom/event_log.hpp>
#include <allot/oom/scoped_wait.hpp>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

using namespace allot::literals;
using namespace allot::oom;
using allot::account;
using allot::limit;
using allot::name;
using support::charged;
using support::part;
using support::until;

namespace {

struct at_end {
    latch& of;
    ~at_end() { of.count_down(); }
};
// Keeps 7 bytes for each number of its input, and has a worker that needs 6 and 6 more. Of 4 numbers: 76 of 100 bytes.
void query(arbiter& tasks, account& memory, int numbers) {
    task mine{tasks, "query"};
    const task_thread here{mine};
    std::vector<part> inputs{{0, numbers}};
    with_retry(inputs, support::halve, [&](part& p) {
        const std::size_t n = p.bytes();
        const charged kept{memory, 7 * n};
        latch done{tasks};
        auto worker = std::async(std::launch::async, [&, scope = retry_scope::now()] {
            const task_thread there{*scope};
            const at_end tells{done};
            with_retry_no_split([&] { // inside the scope of the other thread
                const charged a{memory, 6 * n};
                std::this_thread::yield();
                const charged b{memory, 6 * n};
            });
        });
        done.wait();
        worker.get();
    });
}

} // namespace

TEST_CASE("tasks whose workers join their scopes all end, whatever they need together", "[oom]") {
    const support::rescue ends{"workers that joined a scope"};
    for (const int numbers : {4, 12}) { // each fits alone; each must be split
        event_log seen{200'000};
        {
            arbiter tasks{{}, seen.sink()};
            account memory{name{"engine"}, limit{100}, tasks};
            std::vector<std::jthread> all;
            for (int t = 0; t != 4; ++t)
                all.emplace_back([&] {
                    for (int round = 0; round != 10; ++round) query(tasks, memory, numbers);
                });
            all.clear();
            CHECK(memory.used() == 0);
            CHECK(tasks.stats().refused == 0);
            if (numbers == 12) CHECK(tasks.stats().splits >= 40);
        }
        CHECK(seen.check({}) == event_log::consistent);
    }
}

TEST_CASE("a latch is open once it is counted down as often as it says", "[oom]") {
    arbiter tasks;
    task mine{tasks, "query"};
    const task_thread here{mine};
    latch two{tasks, 2}, none{tasks, 0};
    none.wait();
    const auto is_stuck = [&] {
        const machine now = tasks.now();
        return now.is_stuck(now[here.id()]);
    };
    {
        const scoped_wait w{two};
        CHECK(is_stuck());
        two.count_down();
        CHECK(is_stuck());
        CHECK_FALSE(two.try_wait());
        two.count_down(); // it goes on by itself from here
        CHECK_FALSE(is_stuck());
    }
    two.wait();
    CHECK(two.try_wait());
}

TEST_CASE("a scope inside a token that has joined another is inside that one", "[oom]") {
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task mine{tasks, "query"};
    const task_thread here{mine};
    retry_scope outer;
    std::jthread{[&] {
        const task_thread there{outer};
        CHECK_ON_THREAD(there.is_joined());
        CHECK_ON_THREAD(there.task_now() == mine.id());
        CHECK_ON_THREAD(there.is_in_scope());
        CHECK_ON_THREAD(there.may_be_rolled_back());
        retry_scope inner;
        CHECK_ON_THREAD(!inner.is_outermost());
        CHECK_ON_THREAD(inner.wait({.outcome = allot::charge_outcome::rolled_back}) == allot::verdict::roll_back);
        {
            const no_rollback barred;
            CHECK_ON_THREAD(!here.may_be_rolled_back()); // the whole attempt
        }
        CHECK_ON_THREAD(here.may_be_rolled_back());
    }}.join();
    CHECK(outer.is_outermost());
}
