// Buffers of a device's memory: the host keeps all that is known beside it, and the last release frees at a point of
// the stream.
#include <support/catch.hpp>
#include <support/device_sets.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/page/on_device.hpp>

using allot::account;
using allot::buffer;
using allot::buffer_memory;
using allot::limit;
using allot::name;
using namespace allot::literals;
using allocator = allot::device_allocator<task_memory>;

TEST_CASE("buffers over a device allocator, at a stream", "[buffer]") {
    allocator_machine m;
    allocator gpu{m.api, unheard, limit{64_MiB}};
    account query{name{"query"}, limit{1_MiB}}, scan{query, name{"scan"}}, join{query, name{"join"}};
    {
        allot::on_stream uploads{gpu, m.a};
        const buffer_memory memory{uploads};
        CHECK_FALSE(memory.host_access());
        buffer x = memory.allocate(scan, 1000);
        CHECK(scan.used() == 1024);
        CHECK_FALSE(x.host_access());
        CHECK(gpu.stats().live == 1024);
        buffer part = x.slice(10, 100), theirs = part.retain(join);
        (void)m.api.fill_async(theirs.data(), 1, theirs.size(), m.a);
        x.release(), part.release();
        CHECK(join.used() == 1024);
        auto [back, how] = std::move(theirs).transfer(scan);
        CHECK(how.fitted());
        CHECK(back.reallocate_if_needed(900)); // where it stands
        CHECK(back.block_bytes() == 1024);
        CHECK(back.reallocate_if_needed(2000));
        CHECK(scan.used() == 2048);
        allot::charge_status why;
        CHECK_FALSE(memory.try_allocate(scan, 100_MiB, &why)); // the account refuses before the device is asked
        CHECK(why.at == &query);
        query.set_limit(SIZE_MAX);
        CHECK_FALSE(memory.try_allocate(scan, 100_MiB, &why));
        CHECK(why.outcome == allot::charge_outcome::over_limit);
        CHECK(why.by == allot::refuser::limit); // now the device allocator does
        CHECK(query.peak() <= 4096);
    }
    CHECK(query.used() == 0);
    CHECK(gpu.stats().live == 0);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("tasks share a pool of device memory: each account is charged for its blocks, the pool for the rest",
          "[buffer]") {
    struct shared_pool : allot::policies<on_simulated, allot::order::stream, allot::ledger::pool, allot::oom::null> {};
    allocator_machine m;
    account engine{name{"engine"}, limit{64_MiB}}, first{engine, name{"first"}}, second{engine, name{"second"}};
    allot::device_allocator<shared_pool> gpu{m.api, unheard, engine};
    allot::on_stream at{gpu, m.a};
    const buffer_memory memory{at};
    {
        const buffer small = memory.allocate(first, 1000), large = memory.allocate(second, 3'000'000);
        CHECK(first.used() == 1024);
        CHECK(second.used() == large.block_bytes());
        CHECK(gpu.account().used() == gpu.used() - first.used() - second.used());
        CHECK(engine.used() == gpu.used()); // whole segments, once
        std::vector<buffer> rest;
        while (buffer b = memory.try_allocate(first, 1_MiB)) rest.push_back(std::move(b));
        CHECK(rest.size() > 55);
        CHECK(engine.used() <= 64_MiB);
    }
    CHECK(first.used() + second.used() == 0);
    CHECK(gpu.account().used() == gpu.used());
    CHECK(engine.verify());
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("buffers over a device's chunks are none of the host's", "[buffer]") {
    struct device_chunks : allot::policies<allot::fit::runs, allot::page::on_device<allot::device::simulated>> {};
    allocator_machine m;
    allot::chunk_arena<device_chunks> chunks{m.api, limit{64_MiB}};
    const buffer_memory memory{chunks};
    CHECK_FALSE(memory.host_access());
    account scan{name{"scan"}};
    const buffer b = memory.allocate(scan, 1000);
    CHECK_FALSE(b.host_access());
    CHECK(b.slice(0, 10).host_access() == false);
    struct host_chunks : allot::policies<allot::fit::runs> {};
    allot::chunk_arena<host_chunks> here{limit{64_MiB}};
    CHECK(buffer_memory{here}.host_access());
}
