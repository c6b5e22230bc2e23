// use::drill: what its header says of it, and buffers of it under accounts.
#include <support/asleep.hpp>
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/buffers.hpp>
#include <allot/core/describe.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/drill.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <random>
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
using answers = allot::detail::resolved<drill, allot::product::chunk_arena>;
template <class Category, class Answer> constexpr bool says = std::is_same_v<answers::answer<Category>, Answer>;

struct refusals {
    std::size_t by_pool = 0, by_account = 0;
    std::size_t least_used = SIZE_MAX; // of the account, when the pool refused
};

// Holds buffers of random sizes, all powers of two between equally often, until one is refused; then releases three.
refusals fill(std::size_t pool_limit, std::size_t account_limit, std::size_t smallest, std::size_t largest,
              std::size_t threads) {
    allot::chunk_arena<drill> pool{limit{pool_limit}, drill::chunk};
    const allot::buffer_memory memory{pool};
    account query{name{"query"}, limit{account_limit}};
    std::vector<refusals> of(threads);
    std::vector<std::thread> team;
    for (std::size_t t = 0; t != threads; ++t)
        team.emplace_back([&, t] {
            std::mt19937_64 random(t + 1);
            std::uniform_real_distribution<> power(std::log2(smallest), std::log2(largest));
            std::vector<buffer> held;
            const auto release_one = [&] {
                if (held.empty()) return;
                std::swap(held[random() % held.size()], held.back());
                held.pop_back();
            };
            for (unsigned i = 0; i != 8000; ++i) {
                allot::charge_status why;
                if (buffer b = memory.try_allocate(query, static_cast<std::size_t>(std::exp2(power(random))), &why)) {
                    held.push_back(std::move(b));
                    if (random() % 8 == 0) release_one();
                    continue;
                }
                if (why.by == allot::refuser::limit) { // the pool's
                    ++of[t].by_pool;
                    of[t].least_used = std::min(of[t].least_used, query.used());
                } else {
                    ++of[t].by_account;
                }
                for (int n = 0; n != 3; ++n) release_one();
            }
        });
    for (std::thread& t : team) t.join();
    refusals all;
    for (const refusals& r : of) {
        all.by_pool += r.by_pool;
        all.by_account += r.by_account;
        all.least_used = std::min(all.least_used, r.least_used);
    }
    CHECK(query.used() == 0);
    return all;
}
} // namespace

TEST_CASE("use::drill cuts chunks of 16 MiB in halves, caches by thread, and charges each page once",
          "[buffer][drill]") {
    STATIC_REQUIRE(says<allot::category::fit, allot::fit::buddy>);
    STATIC_REQUIRE(says<allot::category::heap, allot::heap::per_thread>);
    STATIC_REQUIRE(says<allot::category::ledger, allot::ledger::pool>);
    STATIC_REQUIRE_FALSE(
        allot::well_formed<drill, allot::product::row_manager>); // fit is a question that rows do not ask
    const std::string text(allot::describe<drill, allot::product::chunk_arena>().text());
    for (const char* line : {"chunk_arena of allot::use::drill", "fit::buddy", "heap::per_thread", "ledger::pool"})
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

TEST_CASE("a pool below the account of its buffers: each byte is charged once, and the whole limit can be used",
          "[buffer][drill]") {
    account engine{name{"engine"}, limit{64_MiB}};
    allot::chunk_arena<drill> pool{engine, allot::chunk_bytes{4_MiB}};
    const allot::buffer_memory memory{pool};
    account scan{engine, name{"scan"}, allot::credit_step{}}, sort{engine, name{"sort"}};
    account& idle = pool.account();
    for (const std::size_t bytes : {1_MiB, std::size_t{10'000}, 60_MiB, 1_MiB}) {
        INFO("buffers of " << bytes);
        std::vector<buffer> held;
        for (unsigned i = 0;; ++i) {
            buffer b = memory.try_allocate(i % 2 == 0 ? scan : sort, bytes);
            if (!b) break;
            CHECK(b.block_bytes() <= pool.used());
            held.push_back(std::move(b));
        }
        const std::size_t block = held.front().block_bytes();
        CHECK(held.size() == 64_MiB / block);
        CHECK(scan.used() + sort.used() == held.size() * block);
        CHECK(idle.used() == pool.used() - held.size() * block);
        CHECK(engine.used() <= 64_MiB);
        const buffer moved = std::move(held.front()).transfer(sort).view; // another account has it at its end
        held.clear();
        CHECK(idle.used() == pool.used() - block);
        CHECK(sort.used() == block);
        CHECK(engine.verify());
    }
    CHECK(scan.used() + sort.used() == 0);
    CHECK(engine.stats().beyond == 0);

    // The limits of the buffers' own accounts hold, and a refused request changes nothing.
    account small{engine, name{"small"}, limit{100'000}};
    const std::size_t kept = idle.used();
    for (const std::size_t bytes :
         {std::size_t{100'001}, 1_MiB, 200_MiB, static_cast<std::size_t>(PTRDIFF_MAX), SIZE_MAX}) {
        allot::charge_status why;
        CHECK_FALSE(memory.try_allocate(small, bytes, &why));
        CHECK(why.at == &small);
    }
    CHECK(idle.used() == kept);
    CHECK(small.peak() == 0);
    {
        account late{engine, name{"late"}};
        const buffer b = memory.allocate(late, 1_MiB);
        CHECK_FALSE(late.close_when_drained([](account&, void*) noexcept {}));
        CHECK_FALSE(memory.try_allocate(late, 1_MiB));
    }
    // A buffer of another tree: its account and the pool's are both charged.
    account elsewhere{name{"elsewhere"}};
    const buffer b = memory.allocate(elsewhere, 1_MiB);
    CHECK(elsewhere.used() == 1_MiB);
    CHECK(idle.used() == pool.used());
}

TEST_CASE("a block that comes back beside reserved bytes is owed to their account, and no level counts it twice",
          "[buffer][drill]") {
    struct rows_set : allot::policies<allot::ledger::tree, allot::oom::null> {};
    account engine{name{"engine"}, limit{64_MiB}};
    account query{engine, name{"query"}}, other{engine, name{"other"}};
    allot::chunk_arena<drill> pool{engine, drill::chunk};
    const allot::buffer_memory memory{pool};
    allot::row_manager<rows_set> rows{query};
    buffer all = memory.allocate(query, 16_MiB), more = memory.allocate(query, 16_MiB);
    allot::account_reservation sure = query.reserve_floor_for(48_MiB, 0_ms);
    REQUIRE(sure);
    all.release(), more.release();
    CHECK((engine.used() == 64_MiB && engine.peak() == 64_MiB && engine.stats().beyond == 0 && engine.verify()));
    CHECK((query.stats().reservation == 48_MiB && query.stats().owed == 16_MiB)); // of 32 that the pool has
    CHECK((query.stats().subtree_charge == 32_MiB && engine.promised() == 32_MiB));

    SECTION("it has them, as blocks and as other memory") {
        all = memory.allocate(query, 16_MiB);
        CHECK((engine.used() == 64_MiB && query.stats().owed == 0 && pool.account().used() == 16_MiB));
        void* const row = rows.try_allocate(1000); // of what is promised
        CHECK((row != nullptr && engine.used() == 64_MiB));
        query.charge(31_MiB);
        CHECK((engine.used() == 64_MiB && engine.peak() == 64_MiB));
        query.refund(31_MiB);
        rows.release(row);
    }
    SECTION("a charge of them has the pool return pages") {
        query.charge(48_MiB);
        CHECK((engine.used() <= 64_MiB && query.stats().owed == 0 && pool.used() <= 16_MiB));
        query.refund(48_MiB);
    }
    SECTION("others get none of them") {
        CHECK((memory.try_allocate(other, 10_MiB) && query.stats().owed == 16_MiB)); // of the other 16
        CHECK(!memory.try_allocate(other, 32_MiB));
        CHECK(!other.try_charge(17_MiB));
        CHECK((query.stats().owed == 0 && engine.used() <= 64_MiB)); // pages have left
        CHECK(other.try_charge(16_MiB - pool.used()));
        other.refund(other.used());
    }
    SECTION("they end first of what the reservation keeps no longer") {
        sure.shrink_to(40_MiB);
        CHECK((query.stats().owed == 8_MiB && engine.used() == 64_MiB));
        sure.shrink_to(20_MiB);
        CHECK((query.stats().owed == 0 && engine.used() == 52_MiB));
    }
    SECTION("they move with the floor") {
        account heir{engine, name{"heir"}}, third{engine, name{"third"}};
        REQUIRE(other.try_charge(engine.headroom()));
        allot::account_reservation his = heir.reserve_floor_for(0, 0_ms), none = third.reserve_floor_for(0, 0_ms);
        CHECK(sure.move_to(his, 30_MiB).fitted());
        CHECK((query.stats().owed == 0 && heir.stats().owed == 16_MiB && engine.used() == 64_MiB));
        CHECK((query.stats().subtree_charge == 18_MiB && heir.stats().subtree_charge == 14_MiB));
        CHECK(his.move_to(none, 10_MiB).fitted());
        CHECK((heir.stats().owed == 6_MiB && third.stats().owed == 10_MiB && engine.used() == 64_MiB));
        CHECK((heir.try_charge(20_MiB) && third.try_charge(10_MiB) && engine.used() <= 64_MiB));
        heir.refund(20_MiB), third.refund(10_MiB), other.refund(other.used());
    }
    SECTION("they end with the account") {
        sure.release();
        CHECK((query.stats().owed == 0 && engine.used() == pool.used()));
    }
    CHECK(engine.verify());
    CHECK(engine.stats().beyond == 0);
}

TEST_CASE("what was owed serves who waits for it, once it is owed no more", "[buffer][drill]") {
    struct keeps : allot::with<drill, allot::retain::never> {}; // so that no room comes of it
    const support::rescue ends{"a buffer of what was owed"};
    account engine{name{"engine"}, limit{64_MiB}};
    account query{engine, name{"query"}}, other{engine, name{"other"}};
    allot::chunk_arena<keeps> pool{engine, drill::chunk};
    const allot::buffer_memory memory{pool};
    other.charge(32_MiB);
    allot::account_reservation sure = query.reserve_for(32_MiB, 0_ms);
    const auto come_back = [&] {
        buffer all = memory.allocate(query, 16_MiB), more = memory.allocate(query, 16_MiB);
        all.release(), more.release();
    };
    come_back();
    REQUIRE((query.stats().owed == 32_MiB && engine.used() == 64_MiB && query.stats().subtree_charge == 0));
    CHECK(!memory.try_allocate(other, 16_MiB));
    std::atomic<long> id{0};
    std::thread waits{[&] {
        id = support::this_thread();
        const buffer b = memory.allocate_for(other, 16_MiB, 1000_s);
        CHECK_ON_THREAD(b);
    }};
    while (engine.stats().waiting == 0) std::this_thread::yield();
    support::until_asleep(id);
    SECTION("as its reservation ends") { sure.release(); }
    SECTION("as it is paid, and nothing is free") {
        other.refund(16_MiB);
        CHECK((query.stats().owed == 16_MiB && engine.used() == 64_MiB));
    }
    waits.join();
    CHECK((engine.used() <= 64_MiB && engine.peak() == 64_MiB && engine.verify()));
    other.refund(other.used());
}

TEST_CASE("what a pool keeps serves others below its account, and the reverse", "[buffer][drill]") {
    struct rows_set : allot::policies<allot::ledger::tree, allot::oom::null> {};
    account engine{name{"engine"}, limit{64_MiB}};
    allot::chunk_arena<drill> pool{engine, allot::chunk_bytes{4_MiB}};
    const allot::buffer_memory memory{pool};
    account scan{engine, name{"scan"}};
    {
        const buffer all = memory.allocate(scan, 60_MiB);
    }
    allot::row_manager<rows_set> rows{engine};
    void* const row = rows.try_allocate(60'000'000);
    CHECK(row != nullptr);
    rows.release(row);
    CHECK(memory.try_allocate(scan, 60_MiB));
}

TEST_CASE("under use::drill accounts refuse and the pool does not, if its limit is as documented", "[buffer][drill]") {
    for (const std::size_t threads : {std::size_t{1}, std::size_t{4}}) {
        INFO(threads << " threads");
        const refusals small = fill(256_MiB + 8 * drill::chunk.bytes, 256_MiB, 4_KiB, 1_MiB, threads);
        CHECK(small.by_pool == 0);
        CHECK(small.by_account > 500);
        const refusals large = fill(512_MiB, 256_MiB, 64_KiB, 40_MiB, threads);
        CHECK(large.by_pool == 0);
        CHECK(large.by_account > 500);
    }
    // Why: blocks up to a chunk leave free bytes in the chunks, which count in the pool and in no account.
    const refusals equal = fill(256_MiB, 256_MiB, 64_KiB, 16_MiB, 1);
    CHECK(equal.by_pool > 500);
    CHECK(equal.least_used < 200_MiB);
}

TEST_CASE("of an account and a pool that both would refuse, the account is asked first from 64 KiB on",
          "[buffer][drill]") {
    allot::chunk_arena<drill> pool{limit{64_KiB}, allot::page_bytes{64_KiB}};
    const allot::buffer_memory memory{pool};
    account none{name{"none"}, limit{0}}, any{name{"any"}};
    const auto why = [&](account& by, std::size_t bytes) {
        allot::charge_status s;
        CHECK_FALSE(memory.try_allocate(by, bytes, &s));
        CHECK(s.outcome == allot::charge_outcome::over_limit);
        return s.by;
    };
    CHECK(why(none, 128_KiB) == allot::refuser::account);
    CHECK(why(any, 128_KiB) == allot::refuser::limit);
    CHECK(pool.used() == 0);
    CHECK(why(none, 1_KiB) == allot::refuser::account); // after the pool has taken a chunk
    CHECK(pool.used() == 64_KiB);
    buffer all = memory.allocate(any, 32_KiB), rest = memory.allocate(any, 32_KiB);
    CHECK(why(none, 1_KiB) == allot::refuser::limit);
    CHECK(any.used() == 64_KiB);
}
