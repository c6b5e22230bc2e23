// Memory that one object holds and does not use serves the requests of others below the same account.
#include <support/catch.hpp>
#include <support/this_system.hpp>

#include <allot/account/account.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <cstddef>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

struct quiet : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct borrowing : allot::policies<allot::ledger::tree, allot::oom::null, allot::page::of<allot::arena<>>> {};
using row_pool = allot::row_manager<quiet>;
using block_pool = allot::chunk_arena<quiet>;

// Rows of several sizes until the pool or its account is full; then all are released.
template <class Pool> void use_and_release(Pool& pool, std::size_t bytes) {
    std::vector<void*> all;
    for (std::size_t i = 0, got = 0; got < bytes; ++i) {
        const std::size_t size = 40 + i * 97 % 3000;
        void* const p = [&]() -> void* {
            if constexpr (requires { pool.release(nullptr); }) return pool.try_allocate(size);
            else return pool.try_allocate(size).address;
        }();
        if (p == nullptr) break;
        all.push_back(p);
        got += size;
    }
    for (void* const p : all) {
        if constexpr (requires { pool.release(nullptr); }) pool.release(p);
        else pool.deallocate(static_cast<std::byte*>(p));
    }
}

} // namespace

TEMPLATE_TEST_CASE("a pool at rest serves its sibling, and charges beside it", "[accounts][idle]", row_pool,
                   block_pool) {
    account query{name{"query"}, limit{64_MiB}};
    TestType idle{query, name{"idle"}};
    row_pool rows{query, name{"rows"}};
    block_pool blocks{query, name{"blocks"}};
    account leaf{query, name{"leaf"}};

    const auto fill = [&] {
        use_and_release(idle, 48_MiB);
        CHECK(idle.used() > 32_MiB);
    };
    fill();
    void* const row = rows.try_allocate(40_MiB);
    CHECK(row != nullptr);
    rows.release(row);
    rows.trim();

    fill();
    const allot::block block = blocks.try_allocate(40_MiB);
    CHECK(block.address != nullptr);
    blocks.deallocate(block.address);
    blocks.trim();

    fill();
    CHECK(leaf.try_charge(40_MiB));
    leaf.refund(40_MiB);

    fill();
    {
        const allot::account_reservation promised = leaf.reserve_for(40_MiB, 0_ms);
        CHECK(promised);
    }
    fill();
    {
        const allot::account_reservation floor = leaf.reserve_floor_for(40_MiB, 0_ms);
        CHECK(floor);
    }
    fill();
    account other{query, name{"other"}, limit{8_MiB}};
    CHECK(other.try_charge(8_MiB));
    account beside{query, name{"beside"}, limit{16_MiB}};
    const allot::account_reservation floor = beside.reserve_floor_for(16_MiB, 0_ms);
    CHECK(floor);
    CHECK(beside.try_charge(1_MiB));
    use_and_release(idle, 48_MiB);
    CHECK(account::try_transfer(beside, leaf, 1_MiB)); // `beside` still counts its reservation
    leaf.refund(1_MiB);
    CHECK(query.verify());
    other.refund(8_MiB);
}

TEST_CASE("idle memory of a query is left to it while another query is at its own limit", "[accounts][idle]") {
    account engine{name{"engine"}, limit{64_MiB}};
    account one{engine, name{"one"}, limit{32_MiB}}, two{engine, name{"two"}, limit{8_MiB}};
    row_pool idle{one};
    use_and_release(idle, 24_MiB);
    const std::size_t held = idle.used();
    CHECK(held > 16_MiB);
    account leaf{two, name{"leaf"}};
    CHECK(leaf.try_charge(8_MiB));
    CHECK(!leaf.try_charge(1)); // refused by `two`
    CHECK(idle.used() == held);
    leaf.refund(8_MiB);

    account large{engine, name{"large"}};
    CHECK(!large.try_charge(65_MiB)); // no memory that others return could serve it
    CHECK(idle.used() == held);
    CHECK(large.try_charge(64_MiB));
    CHECK(idle.used() == 0);
    large.refund(64_MiB);
}

TEST_CASE("a pool of the user returns what is idle, bit by bit, as long as that helps", "[accounts][idle]") {
    struct pool final : allot::reclaimer {
        explicit pool(account& above) : reclaimer("messages", reclaimer::idle), at{above, allot::name{"pool"}} {
            at.add(*this);
        }
        ~pool() {
            at.remove(*this);
            at.refund(at.used());
        }
        bool reclaim(const allot::shortage&) noexcept override {
            if (at.used() < 1_MiB) return false;
            at.refund(1_MiB);
            return true;
        }
        account at;
    };
    account query{name{"query"}, limit{8_MiB}};
    account leaf{query, name{"leaf"}};
    pool messages{query};
    CHECK(messages.at.try_charge(6_MiB));
    CHECK(leaf.try_charge(5_MiB));
    CHECK(messages.calls() == 3);
    CHECK(messages.freed() == 3_MiB);
    CHECK(messages.at.used() == 3_MiB);
    CHECK(query.stats().refused == 0);
    CHECK(!leaf.try_charge(7_MiB)); // all that is idle would not be enough
    CHECK(messages.at.used() == 0);
    CHECK(query.stats().refused == 1);
    leaf.refund(5_MiB);
}

TEST_CASE("a limit that is set below what a pool holds idle is kept by the next request", "[accounts][idle]") {
    account query{name{"query"}, limit{64_MiB}};
    row_pool idle{query}, rows{query};
    use_and_release(idle, 48_MiB);
    query.set_limit(16_MiB);
    void* const row = rows.try_allocate(15_MiB);
    CHECK(row != nullptr);
    CHECK(query.used() <= 16_MiB);
    rows.release(row);
}

TEST_CASE("idle rows of one manager serve a small row of another, on a shared arena too", "[accounts][idle]") {
    account query{name{"query"}, limit{32_MiB}};
    allot::arena<> shared{limit{64_MiB}, allot::page_bytes{64_KiB}};
    allot::row_manager<borrowing> idle{shared, query, name{"idle"}}, rows{shared, query, name{"rows"}};
    use_and_release(idle, 64_MiB);
    CHECK(idle.used() > 30_MiB);
    void* const row = rows.try_allocate(5000);
    CHECK(row != nullptr);
    rows.release(row);
}

TEST_CASE("threads whose live memory fits are never refused, whichever thread holds idle memory",
          "[accounts][idle][threads]") {
    constexpr unsigned threads = 4;
    account query{name{"query"}, limit{threads * 1344_KiB}}; // each uses at most 4 rows, of 5 pages each
    std::atomic<std::size_t> refused{0};
    std::vector<std::thread> all;
    for (unsigned t = 0; t != threads; ++t)
        all.emplace_back([&, t] {
            row_pool rows{query, allot::page_bytes{64_KiB}};
            std::mt19937 random(t);
            for (int turn = 0; turn != 300; ++turn) {
                std::vector<void*> mine;
                for (int i = 0; i != 4; ++i) {
                    void* const row = rows.try_allocate(random() % 2 == 0 ? 200 + random() % 4000 : 300'000);
                    if (row == nullptr) ++refused;
                    else mine.push_back(row);
                }
                for (void* const row : mine) rows.release(row);
                account leaf{query, name{"leaf"}};
                if (leaf.try_charge(500'000)) leaf.refund(500'000);
                else ++refused;
            }
        });
    for (auto& each : all) each.join();
    CHECK(refused == 0);
    CHECK(query.used() == 0);
    CHECK(query.peak() <= query.limit());
}

TEST_CASE("a pool may end while others ask it", "[accounts][idle][threads]") {
    account query{name{"query"}, limit{4_MiB}};
    std::atomic<bool> over{false};
    std::thread asks{[&] {
        account leaf{query, name{"leaf"}};
        while (!over) static_cast<void>(!leaf.try_charge(4_MiB) || (leaf.refund(4_MiB), true));
    }};
    const int turns = ALLOT_TSAN ? 60 : support::is_emulated() ? 20 : 200;
    for (int turn = 0; turn != turns; ++turn) {
        row_pool rows{query, allot::page_bytes{16_KiB}};
        use_and_release(rows, 1_MiB);
    }
    over = true;
    asks.join();
    CHECK(query.used() == 0);
}

// Objects fall asleep and are woken while threads use them; once these stop, a refused request leaves nothing idle.
TEMPLATE_TEST_CASE("objects that rest while threads use them give all that they do not use", "[accounts][idle]",
                   row_pool, block_pool) {
    account query{name{"query"}, limit{256_MiB}}, all{query, name{"all"}};
    all.charge(1_MiB);
    const auto refused = [&] { return !all.try_charge(256_MiB - 1).charged(); };
    TestType pools[4]{TestType{query}, TestType{query}, TestType{query}, TestType{query}};
    constexpr unsigned workers = 3, rounds = 30;
    std::atomic<unsigned> round{0}, done{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t != workers; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            std::vector<std::pair<TestType*, void*>> mine;
            const auto release = [&](std::size_t least) {
                while (mine.size() > least) {
                    std::swap(mine[random() % mine.size()], mine.back());
                    if constexpr (requires { pools->release(nullptr); }) mine.back().first->release(mine.back().second);
                    else mine.back().first->deallocate(mine.back().second);
                    mine.pop_back();
                }
            };
            for (unsigned r = 1; r <= rounds; ++r) {
                while (round != r) std::this_thread::yield();
                for (unsigned i = 0; i != 1000; ++i) {
                    TestType& from = pools[random() % 4];
                    const std::size_t bytes = i % 250 == 0 ? 100'000 : 40 + random() % 1000;
                    if constexpr (requires { from.release(nullptr); })
                        mine.emplace_back(&from, from.try_allocate(bytes));
                    else mine.emplace_back(&from, from.try_allocate(bytes).address);
                    if (random() % 3 == 0) release(mine.size() - 1);
                }
                release(r % 3 == 0 ? 0 : random() % (mine.size() + 1));
                ++done;
            }
            while (round != rounds + 1) std::this_thread::yield();
            release(0);
        });
    for (unsigned r = 1; r <= rounds; ++r) {
        done = 0, round = r;
        bool all_refused = true;
        while (done != workers) all_refused = refused() && all_refused;
        CHECK((all_refused && refused()));
        for (TestType& pool : pools) {
            const std::size_t used = pool.used();
            CHECK(pool.trim() == 0);
            CHECK(pool.used() == used);
        }
    }
    round = rounds + 1;
    for (auto& t : threads) t.join();
    CHECK(refused());
    for (TestType& pool : pools) CHECK(pool.trim() == 0);
    all.refund(1_MiB);
}
