#include <support/add_then_check.hpp>
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>

#include <climits>
#include <cstdint>
#include <new>
#include <string>

using namespace allot::literals;
using allot::account;
using allot::charge_outcome;
using allot::credit_step;
using allot::limit;
using allot::name;

TEST_CASE("a charge counts at every level, and a refund too", "[accounts]") {
    account root{name{"root"}, limit{100}};
    account query{root, name{"query"}, limit{80}};
    account scan{query, name{"scan"}};
    CHECK(scan.try_charge(50).fitted());
    CHECK(query.try_charge(10));
    CHECK(scan.used() == 50);
    CHECK(query.used() == 60);
    CHECK(query.stats().own == 10);
    CHECK(root.used() == 60);
    CHECK(root.verify());
    scan.refund(50);
    query.refund(10);
    CHECK(root.used() == 0);
    CHECK(root.peak() == 60);
    CHECK(scan.peak() == 50);
    CHECK(root.verify());
}

TEST_CASE("a refused charge names the level, and is in no figure", "[accounts]") {
    account root{name{"root"}, limit{100}};
    account query{root, name{"query"}, limit{1000}}; // more than its parent's
    account scan{query, name{"scan"}, limit{70}};
    account other{root, name{"other"}};
    REQUIRE(other.try_charge(40));
    allot::charge_status s = scan.try_charge(61);
    CHECK_FALSE(s);
    CHECK(s.outcome == charge_outcome::over_limit);
    CHECK(s.at == &root);
    CHECK(s.requested == 61);
    CHECK(s.used == 40);
    CHECK(s.limit == 100);
    s = scan.try_charge(71);
    CHECK(s.at == &scan);
    CHECK(s.limit == 70);
    for (account* a : {&query, &scan}) {
        CHECK(a->used() == 0);
        CHECK(a->peak() == 0);
    }
    CHECK(root.used() == 40);
    CHECK(root.peak() == 40);
    CHECK(root.stats().refused == 1);
    CHECK(scan.stats().refused == 1);
    CHECK(scan.try_charge(60).fitted());
    scan.refund(60);
    other.refund(40);
}

TEST_CASE("who charges first and checks then has peaks of what nobody had", "[accounts]") {
    add_then_check_account parent{10}, child{SIZE_MAX, &parent};
    CHECK_FALSE(child.try_charge(20));
    CHECK(child.used() == 0);
    CHECK(child.peak() == 20);

    account root{name{"root"}, limit{10}};
    account leaf{root, name{"leaf"}};
    CHECK_FALSE(leaf.try_charge(20));
    CHECK(leaf.peak() == 0);
}

TEST_CASE("a floor is charged at once, guaranteed, and given back at the end", "[accounts]") {
    account root{name{"root"}, limit{100}};
    account other{root, name{"other"}};
    {
        account query{root, name{"query"}};
        const auto floor = query.reserve_floor_for(30, 0_ms);
        CHECK(root.used() == 30);
        CHECK(query.used() == 0);
        CHECK(other.try_charge(70));
        CHECK_FALSE(other.try_charge(1));
        CHECK(query.headroom() == 30);
        CHECK(query.try_charge(30).fitted());
        CHECK(root.used() == 100);
        CHECK_FALSE(query.try_charge(1));
        query.refund(20);
        CHECK(root.used() == 100);
        CHECK(root.verify());
        query.refund(10);
    }
    CHECK(root.used() == 70);
    account small{root, name{"small"}, limit{30}};
    CHECK(small.reserve_floor_for(31, 0_ms).status().at == &small);
    small.set_limit(31);
    CHECK(small.reserve_floor_for(31, 0_ms).status().at == &root);
    CHECK(root.used() == 70);
    other.refund(70);
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("only what goes beyond a reservation climbs", "[accounts]") {
    account root{name{"root"}, limit{100}};
    account query{root, name{"query"}}, leaf{query, name{"leaf"}};
    const auto floor = query.reserve_floor_for(30, 0_ms), of_leaf = leaf.reserve_floor_for(10, 0_ms);
    CHECK(query.used() == 10);
    CHECK(leaf.try_charge(25));
    CHECK(query.used() == 25);
    CHECK(root.used() == 30);
    CHECK(leaf.try_charge(25));
    CHECK(root.used() == 50);
    CHECK(root.verify());
    leaf.refund(45);
    CHECK(query.used() == 10);
    CHECK(root.used() == 30);
    CHECK(leaf.headroom() == 95);
    leaf.refund(5);
}

TEST_CASE("a limit may change at any time", "[accounts]") {
    account root{name{"root"}, limit{100}};
    account leaf{root, name{"leaf"}, credit_step{16}};
    CHECK(leaf.try_charge(50));
    root.set_limit(40);
    CHECK(leaf.over_limit());
    CHECK_FALSE(leaf.try_charge(1)); // no room is left ahead either
    leaf.refund(1);
    CHECK_FALSE(leaf.try_charge(1)); // nor by what was refunded
    leaf.refund(9);
    CHECK_FALSE(leaf.over_limit());
    CHECK_FALSE(leaf.try_charge(1));
    leaf.refund(20);
    CHECK(leaf.try_charge(20));
    CHECK(root.used() == 40);
    root.set_limit(SIZE_MAX);
    CHECK(leaf.try_charge(1000));
    leaf.refund(1040);
    CHECK(root.verify());
}

TEST_CASE("force goes beyond every limit, and says so", "[accounts]") {
    account root{name{"root"}, limit{100}};
    account leaf{root, name{"leaf"}};
    CHECK(leaf.force_charge(60).fitted());
    const allot::charge_status s = leaf.force_charge(60);
    CHECK(s.charged());
    CHECK(s.outcome == charge_outcome::forced);
    CHECK(s.at == &root);
    CHECK(leaf.used() == 120);
    CHECK(leaf.over_limit());
    CHECK(leaf.headroom() == 0);
    CHECK_FALSE(leaf.try_charge(1));
    CHECK(root.stats().beyond == 1);
    leaf.refund(120);
    CHECK_FALSE(leaf.over_limit());
}

TEST_CASE("sums do not overflow", "[accounts]") {
    account root{name{"root"}};
    account leaf{root, name{"leaf"}};
    CHECK(leaf.try_charge(100));
    CHECK_FALSE(leaf.try_charge(SIZE_MAX));
    CHECK_FALSE(leaf.try_charge(SIZE_MAX - 50));
    CHECK_FALSE(leaf.force_charge(SIZE_MAX));
    CHECK(leaf.try_charge(PTRDIFF_MAX - 1000));
    CHECK_FALSE(leaf.force_charge(PTRDIFF_MAX));
    CHECK_FALSE(leaf.reserve_for(SIZE_MAX, 0_ms));
    CHECK(root.used() == static_cast<std::size_t>(PTRDIFF_MAX) - 900);
    leaf.refund(PTRDIFF_MAX - 1000);
    leaf.refund(100);
    CHECK(root.used() == 0);
}

TEST_CASE("transfer climbs to the lowest common ancestor, and charges nothing twice", "[accounts]") {
    account root{name{"root"}, limit{100}};
    account left{root, name{"left"}}, right{root, name{"right"}, limit{50}};
    account a{left, name{"a"}}, b{left, name{"b"}, limit{60}}, c{right, name{"c"}};
    REQUIRE(a.try_charge(90));
    CHECK(account::try_transfer(a, b, 60).fitted());
    CHECK(left.used() == 90);
    CHECK(left.peak() == 90);
    allot::charge_status s = account::try_transfer(a, b, 1);
    CHECK_FALSE(s);
    CHECK(s.at == &b);
    CHECK(a.used() == 30);
    CHECK(account::transfer(a, c, 30).fitted());
    CHECK(root.used() == 90);
    CHECK(root.peak() == 90);
    CHECK(right.used() == 30);
    CHECK(left.used() == 60);
    s = account::transfer(b, c, 40); // by force
    CHECK(s.charged());
    CHECK_FALSE(s.fitted());
    CHECK(s.at == &right);
    CHECK(right.used() == 70);
    CHECK(account::transfer(b, left, 20).fitted()); // to an ancestor
    CHECK(left.stats().own == 20);
    CHECK(account::transfer(left, b, 20).fitted());
    CHECK(left.used() == 20);
    CHECK(root.peak() == 90);
    CHECK(root.verify());
    CHECK(account::transfer(a, b, 1).outcome == charge_outcome::misused); // more than it has
    b.refund(20);
    c.refund(70);
    CHECK(root.used() == 0);
}

TEST_CASE("a transfer out of a reservation is asked for above", "[accounts]") {
    account root{name{"root"}, limit{100}};
    account sure{root, name{"sure"}};
    const auto floor = sure.reserve_floor_for(60, 0_ms);
    account other{root, name{"other"}};
    REQUIRE(sure.try_charge(50));
    REQUIRE(other.try_charge(30));
    CHECK(root.used() == 90);
    CHECK_FALSE(account::try_transfer(sure, other, 20)); // sure's promise stays: 20 more are needed
    CHECK(account::try_transfer(sure, other, 10).fitted());
    CHECK(root.used() == 100);
    CHECK(account::try_transfer(other, sure, 20).fitted());
    CHECK(root.used() == 80);
    CHECK(root.verify());
    sure.refund(60);
    other.refund(20);
    CHECK(root.used() == 60);
}

TEST_CASE("reserve_for makes later charges sure, until it is released", "[accounts]") {
    account root{name{"root"}, limit{100}};
    account leaf{root, name{"leaf"}}, other{root, name{"other"}};
    const auto floor = leaf.reserve_floor_for(10, 0_ms);
    REQUIRE(leaf.try_charge(5));
    allot::account_reservation sure = leaf.reserve_for(40, 0_ms); // beside the floor of 10
    CHECK(sure);
    CHECK(root.used() == 50);
    CHECK(leaf.used() == 5);
    CHECK_FALSE(leaf.reserve_for(96, 0_ms));
    CHECK(root.used() == 50);
    CHECK(other.try_charge(50));
    CHECK(leaf.try_charge(45).fitted());
    CHECK_FALSE(leaf.try_charge(1));
    leaf.refund(48);
    CHECK(root.used() == 100);
    sure.release();
    CHECK(root.used() == 60);
    CHECK(root.verify());
    leaf.refund(2);
    other.refund(50);
}

TEST_CASE("more is refunded than was charged, where room was called in", "[accounts]") {
    if (ALLOT_CHECKED != 0) return; // told there, by abort
    for (const bool moved : {false, true}) {
        account root{name{"root"}, limit{1000}};
        account leaf{root, name{"leaf"}, allot::credit_step{500}}, other{root, name{"other"}};
        REQUIRE(leaf.try_charge(100));
        if (moved) REQUIRE(account::transfer(leaf, other, 50));
        else REQUIRE(other.try_charge(800)); // leaf's room
        leaf.refund(300);
        CHECK(leaf.used() == 0);
        CHECK(root.used() <= 900);
        CHECK(leaf.try_charge(150)); // counts above
        CHECK(root.used() >= 150 + other.used());
        leaf.refund(150);
        other.refund(other.used());
        CHECK(root.verify());
    }
}

TEST_CASE("what is held and not confirmed is in no peak", "[accounts]") {
    account root{name{"root"}, limit{100}};
    account query{root, name{"query"}};
    const auto floor = query.reserve_floor_for(20, 0_ms);
    account leaf{query, name{"leaf"}};
    CHECK(leaf.try_hold(90));
    CHECK(root.used() == 90);
    CHECK(root.peak() == 20);
    CHECK(root.verify());
    leaf.cancel(90);
    CHECK(root.used() == 20);
    CHECK(leaf.peak() == 0);
    CHECK(leaf.try_hold(30));
    leaf.confirm(30);
    CHECK(leaf.peak() == 30);
    CHECK(query.peak() == 30);
    CHECK(root.peak() == 30);
    CHECK(leaf.fits(70));
    CHECK_FALSE(leaf.fits(71));
    leaf.refund(30);
    CHECK(root.verify());
}

#if ALLOT_EXCEPTIONS
TEST_CASE("a charge that is refused raises, with the top holders", "[accounts]") {
    account root{name{"engine"}, limit{100_MiB}};
    account query{root, name{"query 7"}};
    account scan{query, name{"scan"}}, join{query, name{"join"}};
    REQUIRE(join.charge(90_MiB));
    REQUIRE(scan.charge(5_MiB));
    try {
        static_cast<void>(scan.charge(20_MiB));
        FAIL("it was charged");
    } catch (const allot::out_of_memory& e) {
        CHECK(std::string{e.what()} ==
              "allot: out of memory: 20 MiB for account query 7 / scan: over the limit: account engine uses 95 MiB of "
              "100 MiB");
        const std::string page = e.report();
        CHECK(page.find("accounts of engine: 95 MiB used of 100 MiB, peak 95 MiB") != std::string::npos);
        CHECK(page.find("    query 7 / join: 90 MiB charged") < page.find("    query 7 / scan: 5 MiB charged"));
    }
    join.refund(90_MiB);
    scan.refund(5_MiB);
}
#endif

TEST_CASE("a name that is null is an empty one", "[accounts]") {
    account root{name{"root"}};
    account query{root, name{nullptr}, limit{10}};
    CHECK(std::string{query.name()}.empty());
    char text[128];
    allot::text_writer out{text};
    write(out, query.try_charge(11));
    CHECK(out.view() == "over the limit: an account uses 0 bytes of 10 bytes; the request needs 11 bytes");
}

TEST_CASE("more buffers than an account can count are counted, and none is retained", "[accounts]") {
    if (ALLOT_CHECKED != 0) return; // reported there, by abort
    account root{name{"root"}};
    account leaf{root, name{"leaf"}, allot::leak_sink{[](void*, std::string_view) noexcept {}, nullptr}};
    constexpr auto buffers = allot::counted::buffers;
    leaf.count(buffers, INT_MAX);
    CHECK(leaf.stats().buffers == INT_MAX);
    leaf.count(buffers, 1);
    CHECK_FALSE(leaf.count_if_open(buffers)); // as if the host had no memory for it
    for (int i = 0; i != 5; ++i) leaf.count(buffers, 1);
    CHECK(leaf.stats().buffers == std::uint32_t{INT_MAX} + 6);
    CHECK(leaf.is_open());
    int ended = 0;
    CHECK_FALSE(leaf.close_when_drained([](account&, void* n) noexcept { ++*static_cast<int*>(n); }, &ended));
    CHECK(leaf.stats().buffers == std::uint32_t{INT_MAX} + 6);
    for (int i = 0; i != 8; ++i) leaf.count(buffers, -(1 << 28));
    leaf.count(buffers, -4);
    CHECK(ended == 0);
    leaf.count(buffers, -1);
    CHECK(ended == 1);
}
