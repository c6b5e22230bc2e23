// account::maybe_reserve: reservations of one account add up, end in any order, and outlast its close without harm.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using allot::account;
using allot::account_reservation;
using allot::charge_outcome;
using allot::limit;
using allot::name;
using namespace allot::literals;

TEST_CASE("reservations of one account add up, and return by themselves", "[accounts][reservations]") {
    account root{name{"root"}, limit{10'000}};
    account leaf{root, name{"leaf"}}, other{root, name{"other"}};
    {
        const account_reservation one = leaf.maybe_reserve(1000);
        REQUIRE(one);
        CHECK(one.bytes() == 1000);
        CHECK(one.status().fitted());
        {
            const account_reservation two = leaf.maybe_reserve(1000);
            CHECK(two);
            CHECK(root.used() == 2000);
            CHECK(leaf.stats().reservation == 2000);
            CHECK(leaf.used() == 0);
        }
        CHECK(root.used() == 1000);
        REQUIRE(other.try_charge(9000));
        CHECK(leaf.try_charge(1000).fitted()); // for sure
        CHECK_FALSE(leaf.try_charge(1));
        leaf.refund(1000);
        CHECK(root.used() == 10'000); // as long as it is reserved
    }
    CHECK(root.used() == 9000);
    other.refund(9000);
    CHECK(root.verify());
}

TEST_CASE("reservations begin above what is used or reserved, and end in any order", "[accounts][reservations]") {
    for (const bool first_ends_first : {true, false}) {
        account root{name{"root"}};
        account leaf{root, name{"leaf"}, allot::reservation{100}};
        REQUIRE(leaf.try_charge(500));
        account_reservation one = leaf.maybe_reserve(50);
        CHECK(root.used() == 550);
        REQUIRE(leaf.try_charge(500));
        account_reservation two = leaf.maybe_reserve(7);
        CHECK(root.used() == 1007);
        account_reservation& first = first_ends_first ? one : two;
        account_reservation& last = first_ends_first ? two : one;
        first.release();
        CHECK_FALSE(first);
        CHECK(first.bytes() == 0);
        CHECK(root.used() == (first_ends_first ? 1007 : 1000)); // `two` promises 7 beyond 1000
        first.release();
        last.release();
        CHECK(root.used() == 1000);
        leaf.refund(1000);
        CHECK(root.used() == 100); // the constructor's
        CHECK(leaf.stats().reservation == 100);
        CHECK(root.verify());
    }
}

TEST_CASE("what one reservation paid for does not use up another", "[accounts][reservations]") {
    account root{name{"root"}};
    account leaf{root, name{"leaf"}};
    account_reservation one = leaf.maybe_reserve(100);
    REQUIRE(leaf.try_charge(60));
    account_reservation two = leaf.maybe_reserve(10);
    CHECK(root.used() == 110);
    one.release(); // 60 of it stay charged
    CHECK(root.used() == 70);
    one = leaf.maybe_reserve(1000);
    one.release(); // unused
    CHECK(root.used() == 70);
    leaf.refund(60);
    CHECK(root.used() == 70);
    one = leaf.maybe_reserve(5), one.release();
    CHECK(root.used() == 10);
    two.release();
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("a reservation can be moved, and is refused whole", "[accounts][reservations]") {
    account root{name{"root"}, limit{1000}};
    account leaf{root, name{"leaf"}, limit{600}}, wide{root, name{"wide"}};
    account_reservation kept;
    CHECK_FALSE(kept);
    kept = leaf.maybe_reserve(400);
    account_reservation moved{std::move(kept)};
    CHECK_FALSE(kept);
    CHECK(moved.bytes() == 400);
    CHECK(root.used() == 400);

    const account_reservation beyond = leaf.maybe_reserve(201);
    CHECK_FALSE(beyond);
    CHECK(beyond.status().outcome == charge_outcome::over_limit);
    CHECK(beyond.status().at == &leaf);
    CHECK(beyond.status().used == 400); // reserved bytes count
    const account_reservation above = wide.maybe_reserve(601);
    CHECK(above.status().at == &root);
    CHECK(leaf.maybe_reserve(SIZE_MAX).status().outcome == charge_outcome::over_limit);
    CHECK(root.used() == 400);
    moved = wide.maybe_reserve(10); // the other ends
    CHECK(root.used() == 10);
    moved = {};
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("a reservation delays the end of a closing account, and outlasts that of another",
          "[accounts][reservations]") {
    account root{name{"root"}};
    int ended = 0;
    account leaf{root, name{"leaf"}};
    account_reservation one = leaf.maybe_reserve(10), two = leaf.maybe_reserve(10);
    CHECK_FALSE(leaf.close_when_drained([](account&, void* n) noexcept { ++*static_cast<int*>(n); }, &ended));
    CHECK_FALSE(leaf.maybe_reserve(1));
    CHECK(root.used() == 20);
    one.release();
    CHECK(root.used() == 10);
    CHECK(ended == 0);
    two.release(); // ends the account
    CHECK(ended == 1);
    CHECK(root.used() == 0);

    account early{root, name{"early"}};
    account_reservation late = early.maybe_reserve(10), later = early.maybe_reserve(20);
    early.close();
    CHECK(root.used() == 0);
    late.release(), later.release();
    CHECK(root.used() == 0);

    account query{root, name{"query"}}, below{query, name{"below"}};
    account_reservation sure = below.maybe_reserve(10);
    CHECK_FALSE(query.close_when_drained([](account&, void*) noexcept {}));
    sure.release(); // below a closed account
    CHECK(query.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("reservations of many threads", "[accounts][reservations]") {
    account root{name{"root"}, limit{1000}};
    account leaf{root, name{"leaf"}, allot::credit_step{16}, allot::reservation{30}};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t != 4; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            account_reservation mine[4];
            for (int i = 0; i != 2000; ++i) {
                account_reservation& it = mine[random() % 4];
                if (random() % 2 == 0) it = leaf.maybe_reserve(random() % 200);
                else it.release();
                if (it && leaf.try_charge(1)) leaf.refund(1);
            }
        });
    for (auto& t : threads) t.join();
    CHECK(leaf.used() == 0);
    CHECK(leaf.stats().reservation == 30);
    CHECK(root.used() <= 30 + 16);
    CHECK(root.verify());
}

TEST_CASE("a reservation that outlasts the wait of close() is reported by its result", "[accounts][reservations]") {
    account root{name{"root"}}, query{root, name{"query"}};
    auto promise = query.maybe_reserve(500);
    CHECK_FALSE(query.close(1_ms));
    promise.release();
    account other{root, name{"other"}};
    {
        const auto gone = other.maybe_reserve(500);
    }
    CHECK(other.close(1_ms));
}

TEST_CASE("credit that the refusing account cannot recall is among the holders", "[accounts]") {
#if ALLOT_EXCEPTIONS
    account root{name{"root"}, limit{4_MiB}}, leaf{root, name{"leaf"}, allot::credit_step{1_MiB}},
        other{root, name{"other"}, limit{1_MiB}};
    REQUIRE(leaf.try_charge(100));
    leaf.refund(100);
    std::string page;
    std::thread{[&] {
        try {
            other.charge(3500_KiB);
        } catch (const allot::out_of_memory& e) {
            page = e.report();
        }
    }}.join();
    CHECK(page.find("leaf: 0 bytes charged, 1 MiB credit") != std::string::npos);
#endif
}
