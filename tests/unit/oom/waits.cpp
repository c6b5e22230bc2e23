// Real threads that wait: for a semaphore, a pool, another task, too long, or until their task is removed; and what
// stats and the page of tasks say.
#include <support/catch.hpp>
#include <support/tasks.hpp>

#include <allot/buffers.hpp>
#include <allot/oom/scoped_wait.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;
using namespace allot::oom;
using allot::account;
using allot::charge_outcome;
using allot::limit;
using allot::name;
using support::charged;
using support::part;
using support::until;
using support::until_any_in;

namespace {

std::string page_of(const arbiter& tasks) {
    std::string text(8192, ' ');
    allot::text_writer out{text.data(), text.size()};
    tasks.write_tasks(out);
    return std::string(out.view());
}

std::size_t count_in(const arbiter& tasks, thread_state s) {
    std::size_t n = 0;
    const machine now = tasks.now();
    for (const auto& t : now.threads()) n += t.used && t.state == s;
    return n;
}

} // namespace

TEST_CASE("a wait is an edge from its begin to its end, and a resource is held as long as its holder lives", "[oom]") {
    arbiter tasks;
    task query{tasks, "query"}, other{tasks, "other"};
    const task_thread here{query};
    resource permits{tasks};
    const auto waits = [&] { return tasks.now()[here.id()].waits; };
    {
        const scoped_wait w{permits};
        CHECK(waits() == waits_for::resource);
    }
    CHECK(waits() == waits_for::nothing);
    {
        const scoped_wait w{other};
        CHECK(waits() == waits_for::task);
    }
    CHECK(waits() == waits_for::nothing);
    const auto holders = [&] { return tasks.now().resources()[0].holders.size(); };
    {
        const resource::holder mine{permits}, again{permits};
        CHECK(holders() == 2);
    }
    CHECK(holders() == 0);
}

TEST_CASE("a request that is granted behind its wait leaves its thread running", "[oom]") {
    const support::rescue ends{"a request that waits for ever"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task first{tasks, "first"}, query{tasks, "query"};
    const task_thread here{first};
    std::optional<charged> all{std::in_place, memory, 100U};
    std::atomic<bool> runs{false};
    std::jthread sleeper([&] {
        const task_thread there{query};
        const charged mine{memory, 10};
        runs = there.state() == thread_state::running;
    });
    until_any_in(tasks, thread_state::blocked);
    all.reset();
    sleeper.join();
    CHECK(runs);
    CHECK(query.stats().waits == 1);
}

TEST_CASE("requests of tasks are granted in the order of the tasks, not as they came", "[oom]") {
    const support::rescue ends{"requests that wait for ever"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task first{tasks, "first"}, low{tasks, "low", -1}, high{tasks, "high", 1};
    const task_thread here{first};
    std::optional<charged> all{std::in_place, memory, 100U};
    std::atomic<int> granted{0}, low_at{0}, high_at{0};
    const auto request = [&](task& of, std::atomic<int>& at) {
        const task_thread there{of};
        const charged mine{memory, 100};
        at = ++granted;
    };
    std::jthread a([&] { request(low, low_at); });
    until([&] { return count_in(tasks, thread_state::blocked) == 1; });
    std::jthread b([&] { request(high, high_at); });
    until([&] { return count_in(tasks, thread_state::blocked) == 2; });
    all.reset();
    a.join(), b.join();
    CHECK((high_at == 1 && low_at == 2));
}

TEST_CASE("a part that is finished wakes one that is rolled back, where the rules say so", "[oom]") {
    const support::rescue ends{"a task that is rolled back for ever"};
    arbiter tasks{{.rolled_back_wakes = wakes::at_scope_end}};
    account memory{name{"engine"}, limit{100}, tasks};
    task first{tasks, "first"}, second{tasks, "second"};
    std::optional<task_thread> here{first};
    std::atomic<bool> other_holds{false}, holds{false};
    std::jthread other([&] {
        const task_thread there{second};
        with_retry_no_split([&] {
            const charged mine{memory, 50};
            other_holds = true;
            until([&] { return holds.load(); });
            const charged more{memory, 50};
        });
    });
    until([&] { return other_holds.load(); });
    std::vector<part> inputs{{0, 50}, {50, 51}};
    std::vector<bool> sleeps;
    with_retry(inputs, support::halve, [&](const part& p) {
        sleeps.push_back(tasks.now()[1].state == thread_state::bufn);
        const charged mine{memory, p.bytes()};
        if (p.from != 0) return;
        holds = true;
        const charged more{memory, 10}; // of the other's: it is rolled back
        until_any_in(tasks, thread_state::bufn);
    });
    CHECK(sleeps == std::vector{false, false});
    here.reset(); // at the latest now
    other.join();
}

TEST_CASE("a deadlock through a semaphore is seen by the edge alone, and resolved", "[oom]") {
    const support::rescue ends{"a deadlock through a semaphore"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    resource permits{tasks};
    std::binary_semaphore one{1};
    std::atomic<bool> held{false}, waits{false};
    task first{tasks, "first"}, second{tasks, "second"};
    std::jthread a([&] {
        task_thread here{first};
        const charged mine{memory, 60}; // not in a scope: it keeps them while it waits
        until([&] { return held.load(); });
        {
            const scoped_wait w{permits};
            waits = true;
            one.acquire();
        }
        one.release();
    });
    std::jthread b([&] {
        task_thread here{second};
        std::vector<part> inputs{{0, 80}};
        one.acquire();
        {
            const resource::holder mine{permits};
            held = true;
            until([&] { return waits.load(); });
            with_retry(inputs, support::halve, [&](const part& p) { const charged c{memory, p.bytes()}; });
        }
        one.release();
    });
    a.join(), b.join();
    CHECK(second.stats().rollbacks == 1);
    CHECK(second.stats().splits == 1); // 40 of 100 are free
    CHECK(memory.used() == 0);
}

TEST_CASE("a task that waits for its pool is blocked when its pool threads are", "[oom]") {
    const support::rescue ends{"a task that waits for its pool"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task query{tasks, "query"};
    std::binary_semaphore done{0};
    std::atomic<bool> held{false};
    std::jthread pool([&] {
        const task_thread here{query, thread_kind::pool};
        until([&] { return held.load(); });
        std::vector<part> inputs{{0, 80}};
        with_retry(inputs, support::halve, [&](const part& p) { const charged c{memory, p.bytes()}; });
        done.release();
    });
    {
        task_thread here{query};
        const charged mine{memory, 50};
        held = true;
        const scoped_wait w{for_pool};
        done.acquire();
    }
    pool.join();
    CHECK(query.stats().splits == 1);
    CHECK(memory.used() == 0);
}

TEST_CASE("a wait for another task makes way, and ends with it", "[oom]") {
    const support::rescue ends{"a task that waits for another"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    std::optional<task> producer{std::in_place, tasks, "producer"};
    std::atomic<bool> there{false};
    std::jthread a([&] {
        const task_thread here{*producer};
        until([&] { return there.load(); });
        std::vector<part> inputs{{0, 80}};
        with_retry(inputs, support::halve, [&](const part& p) { const charged c{memory, p.bytes()}; });
    });
    task consumer{tasks, "consumer"};
    task_thread here{consumer};
    const charged mine{memory, 50};
    there = true;
    {
        const scoped_wait w{*producer};
        a.join();
    }
    CHECK(producer->stats().splits == 1);
    const scoped_wait w{*producer};
    producer.reset();
    CHECK_FALSE(tasks.now().is_deadlocked());
}

TEST_CASE("a wait inside another is what the thread waits for meanwhile", "[oom]") {
    arbiter tasks;
    std::optional<task> first{std::in_place, tasks, "first"};
    task mine{tasks, "mine"}, last{tasks, "last"};
    const task_thread here{mine};
    resource permits{tasks};
    const auto now = [&] { return tasks.now()[here.id()]; };
    const scoped_wait outer{*first};
    {
        const scoped_wait inner{permits};
        CHECK(now().waits == waits_for::resource);
    }
    CHECK((now().waits == waits_for::task && now().on == first->id()));
    {
        const scoped_wait inner{for_pool};
        first.reset();
        const task next{tasks, "has its id"};
    }
    CHECK(now().waits == waits_for::nothing);
}

TEST_CASE("a wait and a hold are of the arbiter that their resource or task belongs to", "[oom]") {
    arbiter outer, inner;
    task mine{outer, "mine"}, its{inner, "its"}, other{outer, "other"};
    const task_thread here{mine}, also{its};
    resource permits{outer};
    {
        const resource::holder holds{permits};
        const machine now = outer.now();
        CHECK(now.holders(0) == std::vector<task_id>{mine.id()});
    }
    const scoped_wait w{other};
    CHECK(outer.now()[here.id()].waits == waits_for::task);
    CHECK(inner.now()[also.id()].waits == waits_for::nothing);
}

TEST_CASE("a query at its own limit is split though another task runs on", "[oom]") {
    const support::rescue ends{"a query at its own limit"};
    arbiter tasks;
    account engine{name{"engine"}, limit{1000}, tasks}, mine{engine, name{"query"}, limit{100}};
    account scan{mine, name{"scan"}};
    task other{tasks, "runs on"}, query{tasks, "query", 0, &mine};
    const task_thread runs{other};
    std::jthread a([&] {
        const task_thread here{query};
        std::vector<part> inputs{{0, 80}};
        with_retry(inputs, support::halve,
                   [&](const part& p) { const charged half{scan, p.bytes()}, rest{mine, p.bytes()}; });
    });
    a.join();
    CHECK((query.stats().splits == 1 && query.stats().rollbacks == 1));
}

TEST_CASE("an outer token of the same thread holds back no decision", "[oom]") {
    const support::rescue ends{"nested tokens"};
    arbiter tasks;
    account memory{name{"engine"}, limit{3}, tasks};
    std::atomic<int> here_now{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t != 2; ++t)
        threads.emplace_back([&] {
            task whole{tasks, "whole"}, piece{tasks, "part"};
            const task_thread outer{whole}, inner{piece};
            bool first = true;
            with_retry_no_split([&] {
                const charged one{memory, 1};
                if (std::exchange(first, false)) ++here_now;
                until([&] { return here_now.load() == 2; });
                const charged two{memory, 2};
            });
        });
    threads.clear();
    CHECK(memory.used() == 0);
}

TEST_CASE("a removed thread counts until its scope ends: what it frees then serves others", "[oom]") {
    const support::rescue ends{"a removed thread that frees late"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task first{tasks, "removed"}, last{tasks, "last"};
    const task_thread runs{last};
    std::jthread removed([&] {
        const task_thread here{first};
        try {
            const retry_scope scope;
            const charged most{memory, 80};
            try {
                const charged more{memory, 40};
            } catch (const allot::task_removed&) {
                until([&] { return memory.stats().waiting == 1; });
                std::this_thread::sleep_for(std::chrono::milliseconds(20)); // a decision would come at once
                throw;                                                      // and frees 80
            }
        } catch (const allot::task_removed&) {
        }
    });
    until_any_in(tasks, thread_state::blocked);
    first.remove();
    with_retry_no_split([&] { const charged c{memory, 50}; });
    CHECK((last.stats().rollbacks == 0 && last.stats().splits == 0));
    removed.join();
}

TEST_CASE("a hold that outlives its task ends with it, and no other's does", "[oom]") {
    arbiter tasks;
    resource permits{tasks};
    std::optional<resource::holder> old;
    {
        task first{tasks, "first"};
        const task_thread here{first};
        old.emplace(permits);
    }
    task next{tasks, "has its id"};
    const task_thread here{next};
    const resource::holder mine{permits};
    old.reset();
    const machine now = tasks.now();
    CHECK(now.holders(0).size() == 1);
}

TEST_CASE("wakes::at_free: memory that an account is refunded wakes one that is rolled back", "[oom]") {
    const support::rescue ends{"a refund that wakes"};
    arbiter tasks{{.rolled_back_wakes = wakes::at_free}};
    account memory{name{"engine"}, limit{100}, tasks};
    task first{tasks, "first"}, last{tasks, "last"};
    const task_thread here{first};
    std::optional<charged> most{std::in_place, memory, 60U};
    std::atomic<int> attempts{0};
    std::jthread other([&] {
        const task_thread there{last};
        with_retry_no_split([&] {
            ++attempts;
            const charged some{memory, 30};
            const charged more{memory, 50}; // more than what it frees itself
        });
    });
    until_any_in(tasks, thread_state::blocked);
    {
        const charged rest{memory, 30}; // the other is rolled back for it
        until_any_in(tasks, thread_state::bufn);
        CHECK(attempts == 1);
    }
    most.reset();
    other.join();
    CHECK(attempts == 2);
}

TEST_CASE("a removed task: its sleeper and its runner get task_removed, and others go on", "[oom]") {
    const support::rescue ends{"a removed task"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task other{tasks, "other"};
    task_thread here{other};
    std::optional<charged> all{std::in_place, memory, 100U};
    task query{tasks, "query"};
    std::atomic<int> removed{0};
    std::atomic<bool> go{false};
    std::jthread sleeper([&] {
        task_thread there{query};
        try {
            with_retry_no_split([&] { const charged c{memory, 10}; });
        } catch (const allot::task_removed& e) {
            removed += e.kind() == allot::memory_kind::host;
        }
    });
    std::jthread runner([&] {
        task_thread there{query};
        until([&] { return go.load(); });
        CHECK_ON_THREAD(
            support::throws<allot::task_removed>([&] { with_retry_no_split([&] { const charged c{memory, 10}; }); }));
        CHECK_ON_THREAD(support::throws<allot::task_removed>([&] { memory.charge(10); })); // for good
        ++removed;
    });
    until_any_in(tasks, thread_state::blocked);
    query.remove();
    go = true;
    sleeper.join(), runner.join();
    CHECK(removed == 2);
    std::jthread([&] { // one that begins later
        const task_thread there{query};
        CHECK_ON_THREAD(support::throws<allot::task_removed>([&] { memory.charge(10); }));
    })
        .join();
    all.reset();
    const charged again{memory, 100};
}

TEST_CASE("a task that is removed while it is rolled back ends", "[oom]") {
    const support::rescue ends{"a removed task"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task first{tasks, "first"}, second{tasks, "second"};
    task_thread here{first};
    std::optional<charged> mine{std::in_place, memory, 60U};
    std::atomic<int> removed{0};
    std::jthread back([&] {
        task_thread there{second};
        std::vector<part> inputs{{0, 1}, {1, 2}};
        try {
            with_retry(inputs, support::halve, [&](part&) {
                const charged c{memory, 30};
                const charged d{memory, 20};
            });
        } catch (const allot::task_removed&) {
            removed = static_cast<int>(inputs.size());
        }
    });
    until_any_in(tasks, thread_state::blocked);
    with_retry_no_split([&] { const charged c{memory, 30}; }); // both need the other's: the second is rolled back
    std::optional<retry_scope> keeps_it_back{std::in_place};
    while (removed == 0) {
        second.remove(); // whatever state it is in
        std::this_thread::yield();
        if (tasks.now()[1].state == thread_state::unknown) break;
    }
    back.join();
    CHECK(removed != 0);
    CHECK(memory.used() == 60);
}

TEST_CASE("a removal ends more waits than are signalled at once", "[oom]") {
    const support::rescue ends{"a sleeper of a removed task"};
    constexpr std::size_t n = 40;
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task other{tasks, "other"}, query{tasks, "query"};
    const task_thread here{other};
    const charged all{memory, 100};
    std::atomic<std::size_t> removed{0};
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t != n; ++t)
        threads.emplace_back([&] {
            const task_thread there{query};
            try {
                memory.charge(1);
            } catch (const allot::task_removed&) {
                ++removed;
            }
        });
    until([&] { return count_in(tasks, thread_state::blocked) == n; });
    query.remove();
    threads.clear();
    CHECK(removed == n);
}

TEST_CASE("a pool thread goes on when a task that it works for is removed", "[oom]") {
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task query{tasks, "query"}, next{tasks, "next"};
    task_thread here{query, thread_kind::pool};
    query.remove();
    CHECK_THROWS_AS(memory.charge(200), allot::task_removed); // it works for nobody else
    here.end(query);
    here.begin(next);
    CHECK(here.state() == thread_state::running);
    const charged mine{memory, 60};
    CHECK_THROWS_AS(with_retry_no_split([&] { const charged more{memory, 60}; }), allot::out_of_memory);
    CHECK(next.stats().rollbacks == 1);
}

TEST_CASE("a wait that takes too long is split, and ends in a clear error", "[oom]") {
    const support::rescue ends{"a wait that takes too long"};
    arbiter tasks{{}, {}, 5_ms};
    account memory{name{"engine"}, limit{100}, tasks};
    task busy{tasks, "busy"}, query{tasks, "query"};
    std::binary_semaphore held{0}, over{0};
    std::jthread other([&] { // it runs, and does not end: no deadlock
        task_thread there{busy};
        const charged all{memory, 100};
        held.release();
        over.acquire();
    });
    held.acquire();
    task_thread here{query};
    std::vector<part> inputs{{0, 64}};
    std::string said;
    try {
        with_retry(inputs, support::halve, [&](const part& p) { const charged c{memory, p.bytes()}; });
    } catch (const allot::out_of_memory& e) {
        said = e.what();
    }
    CHECK_THAT(said, ContainsSubstring("out of memory") && ContainsSubstring("engine uses 100 bytes of 100 bytes"));
    CHECK(query.stats().splits == 1);
    CHECK(query.stats().refused == 1);
    CHECK(inputs == std::vector<part>{{0, 32}, {32, 64}});
    CHECK_THROWS_AS(memory.charge(1), allot::out_of_memory); // outside a scope: refused
    CHECK(query.stats().refused == 2);
    over.release();
}

TEST_CASE("a pool thread that works for no task is as any thread without one", "[oom]") {
    const support::rescue ends{"a pool thread of no task"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task query{tasks, "query"};
    task_thread here{query, thread_kind::pool};
    const charged all{memory, 100};
    here.end(query);
    CHECK_THROWS_AS(memory.charge(1), allot::out_of_memory);
    CHECK(query.stats() == task_stats{});
    here.begin(query);
    CHECK_THROWS_AS(memory.charge(1), allot::out_of_memory);
    CHECK(query.stats().refused == 1);
}

TEST_CASE("B11: the last of many deadlocked tasks resolves it by events alone", "[oom]") {
    const support::rescue ends{"deadlocked tasks"};
    constexpr int n = 12;
    arbiter tasks;
    account memory{name{"engine"}, limit{10 * n}, tasks};
    std::atomic<int> here_now{0}, done{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t != n; ++t)
        threads.emplace_back([&] {
            task query{tasks, "query"};
            task_thread here{query};
            bool first = true;
            with_retry_no_split([&] {
                const charged mine{memory, 10};
                if (std::exchange(first, false)) ++here_now;
                until([&] { return here_now.load() == n; }); // all memory is held now
                const charged more{memory, 10};
            });
            ++done;
        });
    threads.clear();
    CHECK(done == n);
    CHECK(memory.used() == 0);
    CHECK(tasks.stats().splits == 0);
    CHECK(tasks.stats().rollbacks >= 1);
}

TEST_CASE("B6: the stats of tasks add up to the whole, also of pool threads and behind the tasks' end", "[oom]") {
    const support::rescue ends{"tasks that wait for ever"};
    arbiter tasks;
    account memory{name{"engine"}, limit{64}, tasks};
    std::mutex lock;
    task_stats sum;
    std::vector<std::jthread> threads;
    for (int t = 0; t != 4; ++t)
        threads.emplace_back([&, t] {
            task query{tasks, "query"};
            {
                task_thread here{query, t % 2 == 0 ? thread_kind::dedicated : thread_kind::pool};
                std::vector<part> inputs(10, part{0, 100});
                with_retry(inputs, support::halve, [&](const part& p) {
                    std::vector<charged> all;
                    for (int i = p.from; i < p.to; i += 4) {
                        all.emplace_back(memory, 4);
                        if (i % 8 == 0) std::this_thread::yield();
                    }
                });
                if (t % 2 != 0) here.end(query);
            }
            const std::lock_guard hold(lock);
            sum += query.stats();
        });
    threads.clear();
    CHECK(tasks.stats() == sum);
    CHECK(sum.splits >= 40);
    CHECK(sum.rollbacks > 0);
    CHECK(sum.waits > 0);
    CHECK(sum.blocked_ns > 0);
    CHECK(sum.lost_ns > 0);
    CHECK(sum.refused == 0);
    CHECK(sum.outside == 0);
}

TEST_CASE("B9: what a task that has ended held is not counted; its peak is", "[oom]") {
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    const charged kept{memory, 40};
    {
        const task query{tasks, "query", 0, &memory};
        CHECK(tasks.stats().bytes == 40);
    }
    CHECK(tasks.stats().bytes == 0);
    CHECK(tasks.stats().peak == 40);
}

TEST_CASE("the page of tasks: names, states, bytes held and spillable, and what each waits for", "[oom]") {
    const support::rescue ends{"a page of tasks"};
    arbiter tasks;
    account memory{name{"engine"}, limit{1_MiB}, tasks}, far{name{"far"}};
    account of_first{memory, name{"of first"}}, of_second{memory, name{"of second"}};
    allot::heap_memory heap;
    allot::buffer_memory bytes{heap};
    resource permits{tasks};
    task first{tasks, "first", 0, &of_first}, second{tasks, "second", 0, &of_second}, third{tasks};
    allot::spill_memory far_memory{bytes, far};
    allot::store inputs{memory, far_memory};
    const allot::stored<allot::buffer> batch = inputs.put(bytes.allocate(of_second, 64_KiB));
    const auto pin = std::make_optional(batch.pin());
    const charged mine{of_first, 512_KiB};
    task_thread here{first};
    const resource::holder permit{permits};

    std::binary_semaphore go{0};
    std::jthread b([&] {
        task_thread there{second};
        const scoped_wait w{permits};
        go.acquire();
    });
    until([&] { return tasks.now().threads().size() == 2 && tasks.now()[1].waits == waits_for::resource; });
    std::jthread c([&] {
        task_thread there{third};
        CHECK_ON_THREAD(support::throws<allot::out_of_memory>([&] { memory.charge(768_KiB); }));
    });
    until_any_in(tasks, thread_state::blocked);
    const std::string now = page_of(tasks);
    CHECK_THAT(now, ContainsSubstring("tasks: 3\n"));
    CHECK_THAT(now, ContainsSubstring("first (1): 0 rollbacks, 0 splits, 512 KiB held, 0 bytes spillable"));
    CHECK_THAT(now, ContainsSubstring("second (2): 0 rollbacks, 0 splits, 64 KiB held, 0 bytes spillable"));
    CHECK_THAT(now, ContainsSubstring("a task (3): 0 rollbacks, 0 splits\n"));
    CHECK_THAT(now, ContainsSubstring(": running, in no retry scope\n"));
    CHECK_THAT(now, ContainsSubstring(": running, in no retry scope, waits for a resource of first\n"));
    CHECK_THAT(now, ContainsSubstring(": blocked, waits for 768 KiB (host), in no retry scope\n"));
    CHECK_THAT(now, !ContainsSubstring("none can go on"));

    { // third waits for memory, and all others for it: its request is refused
        const scoped_wait w{third};
        c.join();
    }
    CHECK(third.stats().refused == 1);
    { // a cycle of waits alone stays
        const scoped_wait w{second};
        const std::string cycle = page_of(tasks);
        CHECK_THAT(cycle, ContainsSubstring("tasks: 3; none can go on: each waits for the next"));
        CHECK_THAT(cycle, ContainsSubstring(", waits for second\n"));
        CHECK_THAT(cycle, ContainsSubstring(", waits for a resource of first\n"));
        go.release();
        b.join();
    }
}

TEST_CASE("the page of an out-of-memory error has the tasks", "[oom]") {
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task query{tasks, "query 7"};
    std::vector<std::optional<task>> more(20);
    for (auto& t : more) t.emplace(tasks, "another");
    task_thread here{query};
    const charged all{memory, 100};
    std::string page;
    try {
        memory.charge(1);
    } catch (const allot::out_of_memory& e) {
        page = e.report();
    }
    CHECK_THAT(page, ContainsSubstring("tasks: 21") && ContainsSubstring("query 7 (1)"));
    CHECK_THAT(page_of(tasks), ContainsSubstring("and 5 more tasks"));
}

TEST_CASE("an arbiter ends behind the refund that ended its root", "[oom]") {
    const support::rescue ends{"an end that waits for a refund"};
    struct {
        std::atomic<bool> has_news{false}, ends{false}, has_ended{false}, outlived_it{false};
    } at;
    const auto hear = [](void* to, const log_entry& e) noexcept {
        if (e.is_change || e.what.what != event::refunded) return;
        auto& is = *static_cast<decltype(at)*>(to);
        is.has_news = true;
        until([&] { return is.ends.load(); });
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // time to end too early
        is.outlived_it = is.has_ended.load();
    };
    auto tasks = std::make_unique<arbiter>(rules{}, log_sink{hear, &at});
    auto memory = std::make_unique<account>(name{"engine"}, limit{100}, *tasks);
    memory->charge(100);
    memory->node().tree().frees.add_judge(), memory->node().tree().act_at_unlock(); // as behind a rollback
    std::jthread last([&, by = memory.get()] {
        until([&] { return !by->is_open(); });
        by->refund(100);
    });
    CHECK(memory->close(std::chrono::seconds(60)));
    until([&] { return at.has_news.load(); });
    memory.reset();
    at.ends = true;
    tasks.reset();
    at.has_ended = true;
    last.join();
    CHECK_FALSE(at.outlived_it);
}
