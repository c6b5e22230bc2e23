// Bytes that are reserved for a buffer before it is allocated.
#include <support/buffer_fixture.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/ledger/pool.hpp>

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
