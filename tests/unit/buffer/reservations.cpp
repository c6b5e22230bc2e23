// Bytes that are reserved for a buffer before it is allocated.
#include <support/buffer_fixture.hpp>
#include <support/device_sets.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/row_manager.hpp>

TEST_CASE_METHOD(fixture, "reserved bytes pay for one buffer of the sum, whatever others charge",
                 "[buffer][reservation]") {
    query.set_limit(10'000);
    telling_memory reported;
    buffer_memory telling{reported};
    const std::size_t sum = 100 + 100 + 100;
    auto sure = a.reserve_for(telling.capacity_for(sum), 0_ms);
    REQUIRE(sure);
    CHECK(query.used() == 512);
    CHECK_FALSE(a.reserve_for(20'000, 0_ms));
    const std::size_t rest = query.headroom();
    REQUIRE(b.try_charge(rest)); // of the query; not what is reserved
    CHECK_FALSE(b.try_charge(1));
    buffer x = telling.allocate(a, sum);
    CHECK(x.size() == sum);
    CHECK(a.used() == 512);
    CHECK(query.used() == query.limit());
    sure.release();
    CHECK(query.used() == query.limit());
    CHECK_FALSE(telling.try_allocate(a, 1));
    x.release();
    CHECK(query.used() == rest);
    CHECK(reported.live == 0);
    b.refund(rest);
}

TEST_CASE_METHOD(fixture, "a failing allocation leaves what is reserved", "[buffer][reservation]") {
    query.set_limit(10'000);
    auto sure = a.reserve_for(100, 0_ms); // this memory does not tell what it will take
    const std::size_t rest = query.headroom();
    REQUIRE(b.try_charge(rest));
    pool.asked = 0, pool.fail_from = 0;
    CHECK_FALSE(memory.try_allocate(a, 100));
    CHECK(query.used() == query.limit());
    pool.fail_from = ~0u;
    charge_status why;
    CHECK_FALSE(memory.try_allocate(a, 100, &why)); // 256 bytes
    CHECK(why.at == &query);
    CHECK(pool.live == 0);
    CHECK(query.used() == query.limit());
    b.refund(200);
    {
        const buffer x = memory.try_allocate(a, 100);
        CHECK(x);
        CHECK(a.used() == 256);
    }
    sure.release();
    b.refund(rest - 200);
    CHECK(query.used() == 0);
}

TEST_CASE("bytes that are reserved above a pool and an account pay for pages and buffer", "[buffer][reservation]") {
    struct lends : allot::policies<allot::ledger::pool, allot::oom::null> {};
    account root{name{"root"}, limit{4_MiB}}, query{root, name{"query"}}, scan{query, name{"scan"}},
        outside{root, name{"outside"}};
    allot::chunk_arena<lends> pool{query, limit{4_MiB}, name{"pool"}, allot::page_bytes{64_KiB}};
    const buffer_memory memory{pool};
    auto sure = query.reserve_for(memory.capacity_for(1_MiB), 0_ms);
    const std::size_t rest = root.headroom();
    REQUIRE(outside.try_charge(rest));
    const buffer b = memory.try_allocate(scan, 1_MiB);
    CHECK(b);
    sure.release();
    CHECK(root.used() == root.limit());
    CHECK(scan.used() == 1_MiB);
    outside.refund(rest);
}

TEST_CASE("what a query has reserved pays for the pages that a pool needs for its buffers", "[buffers][reservations]") {
    struct pooled : allot::policies<allot::ledger::pool, allot::fit::runs, allot::oom::null> {};
    account engine{name{"engine"}, limit{1_MiB}}, query{engine, name{"query"}}, scan{query, name{"scan"}},
        other{engine, name{"other"}};
    allot::chunk_arena<pooled> pool{engine, name{"pool"}, allot::chunk_bytes{64_KiB}};
    const allot::buffer_memory memory{pool};
    {
        const auto promised = query.reserve_for(512_KiB, 0_ms);
        REQUIRE(promised);
        other.charge(engine.headroom());
        REQUIRE(engine.headroom() == 0);
        std::vector<allot::buffer> all;
        for (int i = 0; i != 7; ++i) {
            allot::buffer b = memory.try_allocate(scan, 60'000);
            REQUIRE(b);
            all.push_back(std::move(b));
            CHECK((engine.used() <= 1_MiB && engine.verify()));
        }
        CHECK(scan.used() >= 7 * 60'000);
        while (allot::buffer b = memory.try_allocate(scan, 60'000)) all.push_back(std::move(b)); // to the end of it
        CHECK((all.size() <= 8 && engine.used() == 1_MiB && engine.peak() <= 1_MiB));
        CHECK(!memory.try_allocate(other, 60'000)); // has reserved nothing
        all.clear();
        CHECK((scan.used() == 0 && engine.verify()));
        all.push_back(memory.allocate(scan, 60'000)); // of the pages that the pool has now
    }
    other.refund(other.used());
    pool.trim();
    CHECK((engine.used() == pool.account().used() && engine.verify()));
}

TEST_CASE("a promise is whole again where the arena has no page for it", "[buffer][reservation]") {
    struct borrows
        : allot::policies<allot::page::of<allot::arena<>>, allot::ledger::pool, allot::fit::runs, allot::oom::null> {};
    allot::arena<> small{limit{512_KiB}};
    account engine{name{"engine"}, limit{1_MiB}}, query{engine, name{"query"}}, other{engine, name{"other"}};
    allot::chunk_arena<borrows> pool{small, engine, name{"pool"}, allot::chunk_bytes{64_KiB}};
    const allot::buffer_memory memory{pool};
    std::vector<allot::buffer> all;
    while (allot::buffer b = memory.try_allocate(other, 60'000)) all.push_back(std::move(b));
    const auto promised = query.reserve_for(256_KiB, 0_ms);
    REQUIRE((promised && all.size() == 8));
    const std::size_t rest = engine.headroom();
    other.charge(rest);
    charge_status why;
    CHECK(!memory.try_allocate(query, 60'000, &why));
    CHECK((why.by != allot::refuser::account && query.stats().reservation == 256_KiB && engine.verify()));
    all.clear();
    CHECK(memory.try_allocate(query, 60'000));
    other.refund(rest);
}

namespace {

struct pooled_device : allot::policies<on_simulated, allot::order::stream, allot::ledger::pool, allot::oom::null> {};
struct pooled_rows : allot::policies<allot::ledger::pool, allot::oom::null> {};

// A pool of an engine of 64 MiB, half of which a query has reserved, and others use the rest.
template <class Memory> void check_promise_pays(account& engine, Memory& pool, std::size_t each, std::size_t most) {
    const allot::buffer_memory memory{pool};
    account query{engine, name{"query"}}, other{engine, name{"other"}};
    const auto promised = query.reserve_for(32_MiB, 0_ms);
    REQUIRE(promised);
    other.charge(engine.headroom());
    for (int round = 0; round != 2; ++round) {
        std::vector<allot::buffer> all;
        charge_status why;
        while (allot::buffer b = memory.try_allocate(query, each, &why)) all.push_back(std::move(b));
        CHECK((why.outcome == charge_outcome::over_limit && why.at == &engine));
        CHECK(all.size() == most);
        CHECK(engine.verify());
        if (round == 0) CHECK((engine.used() == 64_MiB && engine.peak() == 64_MiB)); // then blocks have come back
        CHECK(!memory.try_allocate(other, each));                                    // has reserved nothing
    }
    other.refund(other.used());
}

} // namespace

TEST_CASE("what a query has reserved pays for pieces of a device", "[buffer][reservation][device]") {
    allocator_machine m;
    account engine{name{"engine"}, limit{64_MiB}};
    allot::device_allocator<pooled_device> gpu{m.api, engine};
    allot::on_stream at{gpu, m.a};
    check_promise_pays(engine, at, 4_MiB, 8);
    gpu.leave(m.a);
}

TEST_CASE("what a query has reserved pays for pages of rows", "[buffer][reservation]") {
    account engine{name{"engine"}, limit{64_MiB}};
    allot::row_manager<pooled_rows> rows{engine};
    check_promise_pays(engine, rows, 1_MiB, 30); // of pages that each fill 1 MiB and some
}

TEST_CASE("a promise is whole again where the device has no piece for it", "[buffer][reservation][device]") {
    allocator_machine m{{.total_bytes = 32_MiB}};
    account engine{name{"engine"}, limit{64_MiB}}, query{engine, name{"query"}}, other{engine, name{"other"}};
    allot::device_allocator<pooled_device> gpu{m.api, engine};
    allot::on_stream at{gpu, m.a};
    const allot::buffer_memory memory{at};
    std::vector<allot::buffer> all;
    while (allot::buffer b = memory.try_allocate(other, 3_MiB)) all.push_back(std::move(b));
    const auto promised = query.reserve_for(16_MiB, 0_ms);
    REQUIRE(promised);
    const std::size_t rest = engine.headroom();
    other.charge(rest);
    charge_status why;
    CHECK(!memory.try_allocate(query, 3_MiB, &why));
    CHECK((why.by == allot::refuser::device && query.stats().reservation == 16_MiB && engine.verify()));
    all.clear();
    CHECK(memory.try_allocate(query, 3_MiB));
    CHECK(query.stats().reservation == 16_MiB);
    other.refund(rest);
    gpu.leave(m.a);
}
