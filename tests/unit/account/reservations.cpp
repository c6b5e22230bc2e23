// account::reserve_for: reservations of one account add up, end in any order, and outlast its close without harm.
#include <support/catch.hpp>
#include <support/rescue.hpp>

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
        const account_reservation one = leaf.reserve_for(1000, 0_ms);
        REQUIRE(one);
        CHECK(one.bytes() == 1000);
        CHECK(one.status().fitted());
        {
            const account_reservation two = leaf.reserve_for(1000, 0_ms);
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

TEST_CASE("a reservation returns a part of its bytes, the unused ones first", "[accounts][reservations]") {
    account root{name{"root"}, limit{1000}};
    account leaf{root, name{"leaf"}};
    {
        account_reservation one = leaf.reserve_for(100, 0_ms);
        REQUIRE(leaf.try_charge(30));
        one.shrink_to(200); // nothing changes
        one.shrink_to(100);
        CHECK((one.bytes() == 100 && root.used() == 100));
        one.shrink_to(50);
        CHECK((one.bytes() == 50 && root.used() == 50));
        REQUIRE(leaf.try_charge(20));
        CHECK(root.used() == 50);
        one.shrink_to(10); // it is in use
        CHECK((one && one.bytes() == 10 && root.used() == 50));
        leaf.refund(50);
        CHECK(root.used() == 10);
        one.shrink_to(0);
        CHECK((!one && root.used() == 0));
    }
    account_reservation floor = leaf.reserve_floor_for(100, 0_ms), other = leaf.reserve_floor_for(7, 0_ms);
    REQUIRE(leaf.try_charge(30));
    floor.shrink_to(40);
    CHECK((floor.bytes() == 40 && root.used() == 47));
    floor.shrink_to(20);
    CHECK(root.used() == 30);
    other.release(), floor.release();
    leaf.refund(30);
    CHECK((root.used() == 0 && root.verify()));
    account_reservation{}.shrink_to(7);
}

TEST_CASE("a floor moves between children of an account, which sees no more than before", "[accounts][reservations]") {
    account root{name{"root"}, limit{1000}};
    account one{root, name{"one"}}, two{root, name{"two"}, limit{700}}, below{one, name{"below"}};
    const auto floor_of = [](account& a) { return a.reserve_floor_for(0, 0_ms); };
    account_reservation all = one.reserve_floor_for(1000, 0_ms);
    {
        account_reservation part = floor_of(two), child = floor_of(below), top = floor_of(root), none;
        CHECK(all.move_to(part, 600));
        CHECK((part.bytes() == 600 && all.bytes() == 400 && root.used() == 1000 && root.peak() == 1000));
        CHECK((two.try_charge(600) && !two.try_charge(1) && one.try_charge(400) && !one.try_charge(1)));
        const allot::charge_status refused = all.move_to(part, 101);
        CHECK((refused.outcome == charge_outcome::over_limit && refused.at == &two && all.bytes() == 400));
        two.refund(600), one.refund(400);
        account_reservation to_come = one.reserve_for(0, 0_ms);
        for (account_reservation* const wrong : {&child, &top, &none, &to_come})
            CHECK((all.move_to(*wrong, 1).outcome == charge_outcome::misused &&
                   wrong->move_to(all, 0).outcome == charge_outcome::misused));
        CHECK((!all.move_to(part, 401) && !part.move_to(all, 601) && all.move_to(all, 400) && all.move_to(part, 0)));
        CHECK((all.bytes() == 400 && part.bytes() == 600 && root.verify()));
        CHECK((part.move_to(all, 100) && all.bytes() == 500 && root.used() == 1000));
    }
    CHECK((root.used() == 500 && root.verify()));
    REQUIRE(two.try_charge(300)); // beyond a floor: it counts once
    account_reservation covered = floor_of(two);
    CHECK((all.move_to(covered, 200) && root.used() == 600 && root.verify()));
    REQUIRE(one.try_charge(300));                                                 // all that is left of its floor
    CHECK((all.move_to(covered, 300) && all.bytes() == 0 && root.used() == 800)); // in use, so it counts once more
    CHECK(covered.move_to(all, 300));
    account full{root, name{"full"}};
    REQUIRE(full.try_charge(399)); // 999 of 1000
    const allot::charge_status no_room = all.move_to(covered, 200);
    CHECK((no_room.outcome == charge_outcome::over_limit && no_room.at == &root && root.used() == 999));
    CHECK((all.bytes() == 300 && root.peak() <= 1000 && root.verify()));
    full.refund(399), one.refund(300);
    account closed{root, name{"closed"}};
    account_reservation last = floor_of(closed);
    closed.close_when_drained([](account&, void*) noexcept {});
    CHECK((all.move_to(last, 1).outcome == charge_outcome::closed && all.bytes() == 300));
    two.refund(300);
}

TEST_CASE("reservations begin above what is used or reserved, and end in any order", "[accounts][reservations]") {
    for (const bool first_ends_first : {true, false}) {
        account root{name{"root"}};
        account leaf{root, name{"leaf"}};
        const account_reservation floor = leaf.reserve_floor_for(100, 0_ms);
        REQUIRE(leaf.try_charge(500));
        account_reservation one = leaf.reserve_for(50, 0_ms);
        CHECK(root.used() == 550);
        REQUIRE(leaf.try_charge(500));
        account_reservation two = leaf.reserve_for(7, 0_ms);
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
        CHECK(root.used() == 100); // the floor
        CHECK(leaf.stats().reservation == 100);
        CHECK(root.verify());
    }
}

TEST_CASE("what one reservation paid for does not use up another", "[accounts][reservations]") {
    account root{name{"root"}};
    account leaf{root, name{"leaf"}};
    account_reservation one = leaf.reserve_for(100, 0_ms);
    REQUIRE(leaf.try_charge(60));
    account_reservation two = leaf.reserve_for(10, 0_ms);
    CHECK(root.used() == 110);
    one.release(); // 60 of it stay charged
    CHECK(root.used() == 70);
    one = leaf.reserve_for(1000, 0_ms);
    one.release(); // unused
    CHECK(root.used() == 70);
    leaf.refund(60);
    CHECK(root.used() == 10); // what was used before returns
    one = leaf.reserve_for(5, 0_ms), one.release();
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
    kept = leaf.reserve_for(400, 0_ms);
    account_reservation moved{std::move(kept)};
    CHECK_FALSE(kept);
    CHECK(moved.bytes() == 400);
    CHECK(root.used() == 400);

    const account_reservation beyond = leaf.reserve_for(201, 0_ms);
    CHECK_FALSE(beyond);
    CHECK(beyond.status().outcome == charge_outcome::over_limit);
    CHECK(beyond.status().at == &leaf);
    CHECK(beyond.status().used == 400); // reserved bytes count
    const account_reservation above = wide.reserve_for(601, 0_ms);
    CHECK(above.status().at == &root);
    CHECK(leaf.reserve_for(SIZE_MAX, 0_ms).status().outcome == charge_outcome::over_limit);
    CHECK(root.used() == 400);
    moved = wide.reserve_for(10, 0_ms); // the other ends
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
    account_reservation one = leaf.reserve_for(10, 0_ms), two = leaf.reserve_for(10, 0_ms);
    CHECK_FALSE(leaf.close_when_drained([](account&, void* n) noexcept { ++*static_cast<int*>(n); }, &ended));
    CHECK_FALSE(leaf.reserve_for(1, 0_ms));
    CHECK(root.used() == 20);
    one.release();
    CHECK(root.used() == 10);
    CHECK(ended == 0);
    two.release(); // ends the account
    CHECK(ended == 1);
    CHECK(root.used() == 0);

    account early{root, name{"early"}};
    account_reservation late = early.reserve_for(10, 0_ms), later = early.reserve_for(20, 0_ms);
    early.close();
    CHECK(root.used() == 0);
    late.release(), later.release();
    CHECK(root.used() == 0);

    account query{root, name{"query"}}, below{query, name{"below"}};
    account_reservation sure = below.reserve_for(10, 0_ms);
    CHECK_FALSE(query.close_when_drained([](account&, void*) noexcept {}));
    sure.release(); // below a closed account
    CHECK(query.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("reservations of many threads", "[accounts][reservations]") {
    account root{name{"root"}, limit{1000}};
    account leaf{root, name{"leaf"}, allot::credit_step{16}};
    const account_reservation floor = leaf.reserve_floor_for(30, 0_ms);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t != 4; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            account_reservation mine[4];
            for (int i = 0; i != 2000; ++i) {
                account_reservation& it = mine[random() % 4];
                if (random() % 2 == 0) it = leaf.reserve_for(random() % 200, 0_ms);
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

TEST_CASE("bytes to come do not keep what was used before; a floor keeps what it says", "[accounts][reservations]") {
    account root{name{"root"}, limit{200}};
    account sort{root, name{"sort"}}, other{root, name{"other"}};
    REQUIRE(sort.try_charge(80));
    {
        const account_reservation sure = sort.reserve_for(64, 0_ms);
        REQUIRE(sure);
        CHECK(root.used() == 144);
        sort.refund(80); // spilled
        CHECK(root.used() == 64);
        REQUIRE(other.try_charge(136));
        for (int i = 0; i != 3; ++i) { // again and again
            CHECK(sort.try_charge(64));
            CHECK_FALSE(sort.try_charge(1));
            sort.refund(64);
        }
        other.refund(136);
        CHECK(sort.try_charge(100)); // 36 of the parent's
        CHECK(root.used() == 100);
        sort.refund(36);
        CHECK(root.used() == 64); // the parent's return first
        sort.refund(64);
        CHECK(root.used() == 64);
    }
    CHECK(root.used() == 0);
    {
        account_reservation floor = sort.reserve_floor_for(50, 0_ms), second = sort.reserve_floor_for(30, 0_ms);
        CHECK(root.used() == 80);
        CHECK(sort.stats().reservation == 80);
        REQUIRE(sort.try_charge(70));
        CHECK(root.used() == 80);
        const account_reservation more = sort.reserve_for(20, 0_ms);
        CHECK(root.used() == 100);
        REQUIRE(sort.try_charge(30));
        CHECK(root.used() == 100);
        floor.release();
        CHECK(root.used() == 100);
        sort.refund(100);
        CHECK(root.used() == 50); // 30 and 20
        CHECK_FALSE(sort.reserve_floor_for(151, 0_ms));
        CHECK(sort.reserve_floor_for(150, 0_ms));
    }
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("a reservation waits, and gets what is refunded", "[accounts][reservations][waiting]") {
    const support::rescue ends{"a reservation that waits for ever"};
    account root{name{"root"}, limit{100}};
    account first{root, name{"first"}}, later{root, name{"later"}, allot::credit_step{16}};
    REQUIRE(first.try_charge(90));
    CHECK(later.reserve_for(50, 1_ms).status().at == &root);
    CHECK(later.reserve_floor_for(101, allot::forever).status().outcome == charge_outcome::over_limit); // can never be
    allot::cancellation stop;
    std::thread cancels{[&] {
        while (root.stats().waiting == 0) std::this_thread::yield();
        stop.cancel();
    }};
    CHECK(later.reserve_for(50, {allot::forever, stop}).status().outcome == charge_outcome::cancelled);
    cancels.join();
    std::thread waits{[&] {
        const account_reservation sure = later.reserve_for(50, allot::forever);
        CHECK_ON_THREAD(sure);
        CHECK_ON_THREAD(later.try_charge(50));
        later.refund(50);
    }};
    while (root.stats().waiting == 0) std::this_thread::yield();
    first.refund(40);
    waits.join();
    first.refund(50);
    CHECK(root.used() == 0);
}

TEST_CASE("a reservation that outlasts the wait of close() is reported by its result", "[accounts][reservations]") {
    account root{name{"root"}}, query{root, name{"query"}};
    auto promise = query.reserve_for(500, 0_ms);
    CHECK_FALSE(query.close(1_ms));
    promise.release();
    account other{root, name{"other"}};
    {
        const auto gone = other.reserve_for(500, 0_ms);
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

TEST_CASE("a transfer out of an account with bytes to come fits where a refund and a charge would",
          "[accounts][reservations]") {
    const bool below = GENERATE(false, true), by_force = GENERATE(false, true);
    account root{name{"root"}, limit{600}}, query{root, name{"query"}}, scan{query, name{"scan"}},
        other{root, name{"other"}};
    account& keeps = below ? query : scan; // who has bytes to come
    REQUIRE(scan.try_charge(500));
    allot::account_reservation sure = keeps.reserve_for(10, 0_ms);
    REQUIRE(sure);
    const auto move = [&](account& from, account& to, std::size_t bytes) {
        return by_force ? account::transfer(from, to, bytes) : account::try_transfer(from, to, bytes);
    };
    CHECK(root.used() == 510);
    CHECK(move(scan, other, 500).fitted());
    CHECK(root.used() == 510);
    CHECK(root.promised() == 10);
    CHECK(root.peak() == 510);
    CHECK(root.stats().beyond == 0);
    CHECK(keeps.stats().reservation == 10);
    CHECK(scan.try_charge(10));
    CHECK(root.used() == 510);
    CHECK(move(scan, other, 10).fitted()); // it is to come again
    CHECK(root.used() == 520);
    CHECK(move(other, scan, 10).fitted());
    CHECK(root.used() == 510);
    CHECK(move(other, scan, 90).fitted()); // 80 of them beside what is promised
    CHECK(root.used() == 510);
    other.refund(410);
    CHECK(root.used() == 100);
    scan.refund(100);
    CHECK(root.used() == 10);
    sure.release();

    // Nothing changes above the lowest account that is above both.
    account sort{query, name{"sort"}};
    REQUIRE(scan.try_charge(400));
    sure = scan.reserve_for(10, 0_ms);
    allot::account_reservation all = query.reserve_for(50, 0_ms);
    CHECK(root.used() == 460);
    CHECK(move(scan, sort, 400).fitted());
    CHECK(root.used() == 460);
    sort.refund(400), sure.release(), all.release();
    CHECK(root.used() == 0);
    CHECK(root.peak() == 520);
    CHECK(root.verify());
}
