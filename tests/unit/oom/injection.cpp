// Faults on purpose: which request of which task fails, and how, in every product; and requests outside retry scopes.
#include <support/catch.hpp>
#include <support/device_sets.hpp>
#include <support/tasks.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/injection.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/spark.hpp>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;
using namespace allot::oom;
using allot::account;
using allot::charge_outcome;
using allot::limit;
using allot::name;

namespace {

struct rows_of_tasks : allot::policies<allot::ledger::tree, allot::oom::state_machine> {};
struct device_of_tasks
    : allot::policies<on_simulated, allot::order::stream, allot::ledger::tree, allot::oom::state_machine> {};

// What a request throws: "-" nothing, "r" roll back, "s" split, "x" removed, "o" out of memory.
template <class Request> std::string how(Request request) {
    try {
        const retry_scope scope;
        request();
    } catch (const allot::retry_out_of_memory&) {
        return "r";
    } catch (const allot::split_and_retry_out_of_memory&) {
        return "s";
    } catch (const allot::task_removed&) {
        return "x";
    } catch (const allot::out_of_memory&) {
        return "o";
    }
    return "-";
}
template <class Request> std::string how(int times, Request request) {
    std::string all;
    while (times-- != 0) all += how(request);
    return all;
}
struct one_task {
    support::rescue ends{"a task that waits for ever"};
    arbiter tasks;
    account memory{name{"engine"}, limit{64_MiB}, tasks};
    task query{tasks, "query"};
    task_thread here{query};
};

// Each kind of request, thrice behind a fault that skips one.
template <class Request> void fails_as_injected(one_task& t, account& at, Request request) {
    injection faults{at};
    faults.add({.fails = charge_outcome::rolled_back, .skip = 1});
    CHECK(how(3, request) == "-r-");
    faults.add({.fails = charge_outcome::split, .times = 2});
    CHECK(how(3, request) == "ss-");
    for (const charge_outcome as : {charge_outcome::no_memory, charge_outcome::over_limit, charge_outcome::injected}) {
        faults.add({.fails = as});
        CHECK(how(2, request) == "o-");
    }
    faults.add({.fails = charge_outcome::removed});
    CHECK(how(2, request) == "x-");
    CHECK(faults.failed() == 7);
    CHECK(t.here.state() == thread_state::running);
}

} // namespace

TEST_CASE("an account without an arbiter takes no faults, and says so", "[oom]") {
    allot::account alone{allot::name{"alone"}};
    try {
        const allot::oom::injection faults{alone};
        FAIL("it has no arbiter");
    } catch (const allot::out_of_memory& e) {
        CHECK(e.why().outcome == allot::charge_outcome::misused);
        CHECK_THAT(e.what(), ContainsSubstring("without an arbiter"));
    }
}

TEST_CASE("faults of charges", "[oom]") {
    one_task t;
    fails_as_injected(t, t.memory, [&] { const support::charged c{t.memory, 10}; });
}

TEMPLATE_TEST_CASE("faults of rows and blocks", "[oom]", rows_of_tasks, allot::use::spark) {
    one_task t;
    {
        allot::row_manager<TestType> rows{t.memory, unheard};
        fails_as_injected(t, t.memory, [&] {
            rows.release(rows.allocate(300'000)); // pages of each, alone
            rows.trim();
        });
    }
    {
        allot::row_manager<TestType> rows{t.memory, unheard};
        auto local = rows.local();
        injection faults{t.memory};
        faults.add({.skip = 3}); // of the pages that the rows take
        std::string said;
        for (int i = 0; i != 5000; ++i)
            if (const std::string one = how([&] { (void)local.allocate(1000); }); one != "-") said += one;
        CHECK(said == "r");
    }
    allot::chunk_arena<TestType> blocks{t.memory, unheard};
    fails_as_injected(t, t.memory, [&] { (void)blocks.allocate(3_MiB); });
}

TEST_CASE("a rollback hits only a request that may be rolled back, and is counted", "[oom]") {
    one_task t;
    injection faults{t.memory};
    const auto request = [&] { const support::charged c{t.memory, 10}; };
    faults.add({.fails = charge_outcome::rolled_back});
    faults.add({.fails = charge_outcome::split, .skip = 1});
    request(); // in no scope
    {
        const retry_scope scope;
        const no_rollback barred;
        request();
    }
    CHECK(faults.failed() == 0);
    CHECK(how(4, request) == "r-s-");
    CHECK((t.query.stats().rollbacks == 1 && t.query.stats().splits == 1));
    faults.add({.fails = charge_outcome::rolled_back});
    {
        const retry_scope scope;
        CHECK_FALSE(t.memory.try_charge(10));
    }
    request(); // it is not taken for that one
}

TEST_CASE("faults of buffers", "[oom]") {
    one_task t;
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    fails_as_injected(t, t.memory, [&] { const allot::buffer b = memory.allocate(t.memory, 1000); });
}

TEST_CASE("faults of device memory", "[oom]") {
    allocator_machine m;
    one_task t;
    account device{name{"device"}, limit{64_MiB}, t.tasks.device()};
    allot::device_allocator<device_of_tasks> gpu{m.api, device, unheard};
    fails_as_injected(t, device, [&] {
        gpu.deallocate(gpu.allocate(4_MiB, m.a), m.a);
        CHECK(gpu.trim() == 4_MiB); // each request takes memory of the device
    });
    injection faults{device};
    faults.add({.fails = charge_outcome::rolled_back});
    try {
        const retry_scope scope;
        (void)gpu.allocate(4_MiB, m.a);
    } catch (const allot::retry_out_of_memory& e) {
        CHECK(e.kind() == allot::memory_kind::device);
        CHECK_THAT(e.what(), ContainsSubstring("device memory"));
    }
}

TEST_CASE("a fault of one task, of one thread, or of large requests alone", "[oom]") {
    one_task t;
    task other{t.tasks, "other"};
    injection faults{t.memory};
    const auto request = [&](std::size_t bytes = 10, int times = 1) {
        return how(times, [&] { const support::charged c{t.memory, bytes}; });
    };
    faults.add({.task = other.id()});
    CHECK(request() == "-");
    std::string said;
    thread_id id = no_id;
    std::jthread([&] {
        task_thread there{other};
        id = there.id();
        said = request(10, 2);
        faults.add({.task = no_id, .thread = id});
        said += request();
    }).join();
    CHECK(said == "r-r");
    faults.add({.thread = id});
    CHECK(request() == "-");
    faults.add({.least_bytes = 100});
    CHECK(request(99) == "-");
    CHECK(request(100) == "r");
    faults.add({.skip = 2, .least_bytes = 100}); // small ones are not counted
    for (const std::size_t bytes : {100U, 99U, 100U, 99U}) CHECK(request(bytes) == "-");
    CHECK(request(100) == "r");
    faults.add({});
    faults.add({.fails = charge_outcome::split, .skip = 1});
    CHECK(request(10, 3) == "r-s"); // one that fails by a fault is not counted by the next
}

TEST_CASE("a fault is of the request that it failed, not of a later one", "[oom]") {
    one_task t;
    {
        const retry_scope scope;
        injection faults{t.memory};
        faults.add({});
        CHECK(t.memory.try_charge(1).outcome == charge_outcome::injected); // it has no verdict to return
        CHECK(how(2, [&] { const support::charged c{t.memory, 2}; }) == "--");
        CHECK(how(2, [&] { const support::charged c{t.memory, 1}; }) == "r-");
        faults.add({});
        int refused = 0;
        while (!t.memory.try_charge(1)) ++refused;
        t.memory.refund(1);
        CHECK(refused == 8);
    }
    std::jthread([&] { // no task: no fault
        injection faults{t.memory};
        faults.add({});
        CHECK_ON_THREAD(how([&] { const support::charged c{t.memory, 1}; }) == "-");
        CHECK_ON_THREAD(faults.failed() == 0);
    })
        .join();
}

TEST_CASE("with_retry goes through injected rollbacks and splits, and ends with the same answer", "[oom]") {
    one_task t;
    for (std::uint64_t n = 0; n != 12; ++n) {
        injection faults{t.memory};
        faults.add({.fails = n % 2 == 0 ? charge_outcome::rolled_back : charge_outcome::split, .skip = n, .times = 2});
        std::vector<support::part> inputs{{0, 8}, {8, 16}};
        int sum = 0;
        with_retry(inputs, support::halve, [&](const support::part& p) {
            const support::charged a{t.memory, 1}, b{t.memory, 1}, c{t.memory, 1};
            for (int i = p.from; i != p.to; ++i) sum += i;
        });
        CHECK(sum == 120);
        CHECK(faults.failed() == (n < 6 ? 2 : n < 8 ? faults.failed() : 0));
    }
    CHECK(t.memory.used() == 0);
}

TEST_CASE("coverage reports the requests of tasks in no retry scope", "[oom]") {
    one_task t;
    std::vector<std::size_t> found;
    const coverage reports{t.memory,
                           [](void* all, const account& by, std::size_t bytes) noexcept {
                               CHECK(std::string(by.name()) == "engine");
                               static_cast<std::vector<std::size_t>*>(all)->push_back(bytes);
                           },
                           &found};
    const support::charged outside{t.memory, 1};
    with_retry_no_split([&] { const support::charged inside{t.memory, 2}; });
    CHECK(t.memory.try_charge(3));
    t.memory.refund(3);
    std::jthread([&] { const support::charged other{t.memory, 4}; }).join(); // of no task
    CHECK(found == std::vector<std::size_t>{1, 3});
}
