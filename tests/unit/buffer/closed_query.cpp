// A query is closed while its row manager, its pool and its buffers are in use: it does not grow any more.
#include <support/buffer_fixture.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>

#include <vector>

namespace {

struct rows_of_query : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct blocks_of_query : allot::policies<allot::ledger::tree, allot::fit::runs, allot::oom::null> {};
constexpr allot::leak_sink no_report{[](void*, std::string_view) noexcept {}, nullptr};

} // namespace

TEST_CASE("a closed query does not grow by rows, blocks, buffers and credit below it", "[accounts][buffer]") {
    for (const bool at_once : {true, false}) {
        account engine{name{"engine"}, limit{256_MiB}};
        account query{engine, name{"query 7"}, no_report};
        account scan{query, name{"scan"}, allot::credit_step{1_MiB}};
        allot::row_manager<rows_of_query> rows{query, name{"hash table"}, limit{128_MiB}, allot::page_bytes{64_KiB}};
        allot::chunk_arena<blocks_of_query> pool{query, name{"pool"}, limit{128_MiB}};
        allot::heap_memory heap;
        const buffer_memory memory{heap};
        buffer one = memory.allocate(scan, 1000);
        std::vector<void*> kept{rows.allocate(1000)};
        void* const block = pool.allocate(1000).address;
        if (at_once) CHECK_FALSE(query.close());
        else CHECK_FALSE(query.close_when_drained([](account&, void*) noexcept {}));

        const std::size_t closed_with = engine.used();
        charge_status why;
        for (int i = 0; i != 2000; ++i) {
            if (void* const row = rows.allocate(50'000)) kept.push_back(row);
            CHECK_FALSE(pool.allocate(8_MiB).address);
            CHECK_FALSE(memory.try_allocate(scan, 100'000, &why));
            CHECK_FALSE(scan.try_charge(i % 2 == 0 ? 1 : 100'000));
        }
        CHECK(why.outcome == charge_outcome::closed);
        CHECK(why.at == &query);
        CHECK(engine.used() <= closed_with);
        CHECK(kept.size() <= 2); // within the page that was charged

        for (void* const row : kept) rows.release(row);
        pool.deallocate(block);
        one.release();
        rows.trim(), pool.trim();
        CHECK(engine.used() == 0);
        CHECK(engine.verify());
    }
}

TEST_CASE("buffers below a closed query keep their memory charged, by heirs below it alone", "[accounts][buffer]") {
    fixture f;
    buffer one = f.memory.allocate(f.a, 300), theirs = one.retain(f.b), outside = f.memory.allocate(f.away, 100);
    auto later = f.c.reserve_for(256, 0_ms);
    REQUIRE(later);
    CHECK_FALSE(f.query.close_when_drained([](account&, void*) noexcept {}));

    auto moved = one.transfer(f.c);
    CHECK_FALSE(moved.view);
    CHECK(moved.status.outcome == charge_outcome::closed);
    CHECK(moved.status.at == &f.query);
    moved = std::move(outside).transfer(f.c);
    CHECK(moved.status.at == &f.query);
    CHECK(f.away.used() == 256);

    one.release(); // b is the heir
    CHECK(f.a.used() == 0);
    CHECK(theirs.charged() == &f.b);
    CHECK(f.root.used() == 512 + 256 + 256);
    CHECK_FALSE(f.memory.try_allocate(f.c, 256)); // reserved, and refused all the same
    later.release();
    CHECK(f.root.used() == 512 + 256);
    auto [out, how] = std::move(theirs).transfer(f.away);
    CHECK(how.fitted());
    CHECK(f.query.used() == 0);
    out.release(), outside.release();
}
