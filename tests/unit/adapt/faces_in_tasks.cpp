// Faces of device memory, and of rows and blocks, on threads of tasks: requests wait, and verdicts arrive at the body.
#include <support/device_sets.hpp>
#include <support/tasks.hpp>

#include <allot/adapt/device_memory.hpp>
#include <allot/adapt/pmr.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;
using namespace allot::oom;
namespace adapt = allot::adapt;
using allot::account;
using allot::limit;
using allot::name;

namespace {

struct device_of_tasks
    : allot::policies<on_simulated, allot::order::stream, allot::ledger::tree, allot::oom::state_machine> {};
struct rows_of_tasks : allot::policies<allot::ledger::tree, allot::oom::state_machine> {};

struct machine_of_tasks {
    support::rescue ends{"a face that waits for ever"};
    allocator_machine m;
    arbiter tasks;
    account gpu{name{"gpu 0"}, limit{16_MiB}, tasks.device()};
    allot::device_allocator<device_of_tasks> memory{m.api, gpu, unheard};

    ~machine_of_tasks() {
        memory.trim();
        CHECK(gpu.used() == 0);
        CHECK(memory.valid());
    }
    // Through the functions behind cuda_mr and thrust_mr.
    void* take(std::size_t bytes, bool any_stream, allot::charge_status& why) {
        return any_stream ? adapt::detail::allocate_any_stream(memory, bytes, 256, m.b, why)
                          : adapt::detail::allocate_on(memory, bytes, 256, m.b, why);
    }
};

// Whether a request of another task waits until `give` returns what makes it fit.
template <class Request, class Give> void check_waits(arbiter& tasks, Request request, Give give) {
    std::atomic<bool> granted{false};
    std::jthread other{[&] {
        task query{tasks, "other"};
        const task_thread there{query};
        request();
        granted = true;
        CHECK_ON_THREAD(query.stats().waits == 1);
    }};
    support::until_any_in(tasks, thread_state::blocked);
    CHECK_FALSE(granted);
    give();
    other.join();
    CHECK(granted);
}

// Device memory of a user, without allocate().
struct plain_memory {
    using stream_type = int;
    unsigned tries = 0;
    void* try_allocate(std::size_t, std::size_t, stream_type) { return ++tries, nullptr; }
    void deallocate(void*, stream_type) {}
    struct no_streams {
        bool synchronize(stream_type) const { return true; }
    };
    no_streams api() const { return {}; }
};

} // namespace

TEST_CASE("a face of device memory waits on a thread of a task, with a stream and without", "[adapt]") {
    machine_of_tasks all;
    task query{all.tasks, "query"};
    const task_thread here{query};
    for (const bool any_stream : {false, true}) {
        void* const mine = all.memory.allocate(12_MiB, all.m.a);
        check_waits(
            all.tasks,
            [&] {
                allot::charge_status why;
                void* const p = all.take(8_MiB, any_stream, why);
                CHECK_ON_THREAD(p != nullptr);
                all.memory.deallocate(p, all.m.b);
            },
            [&] { all.memory.deallocate(mine, all.m.a); });
    }
    CHECK(all.m.sim.hazards() == 0);
}

TEST_CASE("adaptors of the standard library wait on a thread of a task", "[adapt]") {
    const support::rescue ends{"an adaptor that waits for ever"};
    arbiter tasks;
    account engine{name{"engine"}, limit{16_MiB}, tasks};
    {
        allot::row_manager<rows_of_tasks> rows{engine};
        allot::chunk_arena<rows_of_tasks> blocks{engine};
        auto local = rows.local();
        adapt::memory_resource of_rows{rows};
        adapt::memory_resource of_local{local};
        adapt::memory_resource of_blocks{blocks};
        task query{tasks, "query"};
        const task_thread here{query};
        const auto waits = [&](std::pmr::memory_resource& of) {
            engine.charge(12_MiB);
            check_waits(tasks, [&] { of.deallocate(of.allocate(8_MiB), 8_MiB); }, [&] { engine.refund(12_MiB); });
        };
        waits(of_rows);
        waits(of_local);
        waits(of_blocks);
    }
    CHECK(engine.used() == 0);
}

#if ALLOT_EXCEPTIONS
TEST_CASE("verdicts reach the body of a retry through a face of device memory", "[adapt]") {
    machine_of_tasks all;
    task query{all.tasks, "query"};
    const task_thread here{query};
    for (const bool any_stream : {false, true}) {
        std::vector<support::part> inputs{{0, 64}};
        bool is_of_the_device = false;
        with_retry(inputs, support::halve, [&](const support::part& p) {
            try {
                allot::charge_status why;
                all.memory.deallocate(all.take(p.bytes() * 1_MiB, any_stream, why), all.m.b);
            } catch (const allot::split_and_retry_out_of_memory& e) {
                is_of_the_device = e.kind() == allot::memory_kind::device;
                throw;
            }
        });
        CHECK(is_of_the_device);
    }
    CHECK(query.stats().splits == 6); // 64, 32, 32, twice
}

TEST_CASE("a face of device memory is refused at once without a task, and while its stream is captured", "[adapt]") {
    machine_of_tasks all;
    allot::charge_status why;
    void* const mine = all.memory.allocate(12_MiB, all.m.a);
    std::string said;
    try {
        static_cast<void>(all.take(8_MiB, true, why));
    } catch (const allot::out_of_memory& e) {
        said = e.report();
    }
    CHECK_THAT(said, ContainsSubstring("device allocator")); // the report of allocate()
    {
        task query{all.tasks, "query"};
        const task_thread here{query};
        REQUIRE(all.m.api.begin_capture(all.m.b, allot::device::capture_mode::relaxed));
        CHECK_THROWS_AS(all.take(8_MiB, false, why), allot::out_of_memory);
        static_cast<void>(all.m.api.end_capture(all.m.b));
        CHECK(query.stats().waits == 0);
    }
    all.memory.deallocate(mine, all.m.a);
}
#endif

TEST_CASE("a face of memory that neither waits nor throws says why it is refused", "[adapt]") {
    allocator_machine m;
    allot::device_allocator<task_memory> quiet{m.api, limit{4_MiB}, unheard};
    allot::charge_status why;
    CHECK(adapt::detail::allocate_on(quiet, 8_MiB, 256, m.a, why) == nullptr);
    CHECK(why.outcome == allot::charge_outcome::over_limit);
    CHECK(why.limit == 4_MiB);
    void* const p = adapt::detail::allocate_any_stream(quiet, 1_MiB, 256, m.a, why);
    CHECK(p != nullptr);
    quiet.deallocate(p, m.a);

    plain_memory plain;
    why = {};
    CHECK(adapt::detail::allocate_on(plain, 8, 8, 0, why) == nullptr);
    CHECK(why.outcome == allot::charge_outcome::no_memory);
    CHECK(adapt::detail::allocate_any_stream(plain, 8, 8, 0, why) == nullptr);
    CHECK(adapt::detail::allocate_on(plain, 0, 8, 0, why) == nullptr);
    CHECK(plain.tries == 2);
}
