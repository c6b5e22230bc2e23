// use::drill: what its header says of it, and buffers of it under accounts.
#include <support/catch.hpp>

#include <allot/buffers.hpp>
#include <allot/core/describe.hpp>
#include <allot/use/drill.hpp>

#include <string>
#include <thread>
#include <utility>
#include <vector>

using allot::account;
using allot::buffer;
using allot::limit;
using allot::name;
using namespace allot::literals;

namespace {
using drill = allot::use::drill;
using answers = allot::resolved<drill, allot::product::chunk_arena>;
template <class Category, class Answer> constexpr bool says = std::is_same_v<answers::answer<Category>, Answer>;
} // namespace

TEST_CASE("use::drill cuts chunks of 16 MiB in halves, caches by thread, and is in no tree", "[buffer][drill]") {
    STATIC_REQUIRE(says<allot::category::fit, allot::fit::buddy>);
    STATIC_REQUIRE(says<allot::category::heap, allot::heap::per_thread>);
    STATIC_REQUIRE(says<allot::category::ledger, allot::ledger::counter>);
    STATIC_REQUIRE_FALSE(
        allot::well_formed<drill, allot::product::row_manager>); // fit is a question that rows do not ask
    const std::string text(allot::describe<drill, allot::product::chunk_arena>().text());
    for (const char* line : {"chunk_arena of allot::use::drill", "fit::buddy", "heap::per_thread", "ledger::counter"})
        CHECK(text.find(line) != std::string::npos);

    allot::chunk_arena<drill> pool{limit{64_MiB}, drill::chunk};
    CHECK(pool.chunk_bytes() == 16_MiB);
    const allot::block odd = pool.allocate(5_MiB + 1), whole = pool.allocate(16_MiB), more = pool.allocate(17_MiB);
    CHECK(odd.bytes == 8_MiB);
    CHECK(whole.bytes == 16_MiB);
    CHECK(more.bytes < 18_MiB); // no power of two beyond a chunk
    for (const allot::block& b : {odd, whole, more}) pool.deallocate(b.address);
}

TEST_CASE("buffers of use::drill charge their accounts once, by the block", "[buffer][drill]") {
    allot::chunk_arena<drill> pool{limit{64_MiB}, drill::chunk};
    const allot::buffer_memory memory{pool};
    account query{name{"query"}, limit{1_MiB}};
    account scan{query, name{"scan"}}, sort{query, name{"sort"}, limit{200_KiB}};

    buffer batch = memory.allocate(scan, 100'000);
    CHECK(scan.used() == 128_KiB);
    CHECK(query.used() == 128_KiB);
    CHECK(query.stats().own == 0);
    CHECK(pool.used() >= 128_KiB);                   // its own limit, beside the tree
    CHECK_FALSE(memory.try_allocate(sort, 200'000)); // 256 KiB
    CHECK(sort.peak() == 0);
    buffer head = batch.slice(0, 10);
    auto [mine, how] = std::move(batch).transfer(sort);
    CHECK(how.fitted());
    CHECK(sort.used() == 128_KiB);
    CHECK(scan.used() == 0);

    std::vector<std::jthread> others; // released where it was not made
    others.emplace_back([b = std::move(mine), h = std::move(head)]() mutable { b.release(), h.release(); });
    others.clear();
    CHECK(query.used() == 0);
    CHECK(query.peak() == 128_KiB);
    CHECK(query.verify());
    pool.trim();
    CHECK(pool.used() == 0);
}
