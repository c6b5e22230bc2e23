// Leaves that claim steps ahead, and leaves of one thread.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <string>

using namespace allot::literals;
using allot::account;
using allot::charge_outcome;
using allot::credit_step;
using allot::limit;
using allot::name;

TEST_CASE("steps: room is claimed 1, 4 and 8 at a time, and given back above the step", "[accounts]") {
    account root{name{"root"}};
    account leaf{root, name{"leaf"}, credit_step{1_MiB}};
    CHECK(leaf.try_charge(100));
    CHECK(leaf.used() == 100);
    CHECK(leaf.peak() == 100);
    CHECK(root.used() == 1_MiB);
    CHECK(leaf.try_charge(1_MiB - 100));
    CHECK(root.used() == 1_MiB);
    CHECK(leaf.try_charge(1));
    CHECK(root.used() == 2_MiB);
    leaf.refund(1); // a step is free: it stays
    CHECK(root.used() == 2_MiB);
    leaf.refund(1);
    CHECK(root.used() == 1_MiB);
    CHECK(leaf.try_charge(16_MiB));
    CHECK(root.used() == 20_MiB);
    CHECK(leaf.try_charge(48_MiB));
    CHECK(leaf.used() == 65_MiB - 1);
    CHECK(root.used() == 72_MiB);
    CHECK(leaf.peak() == 65_MiB - 1);
    CHECK(root.verify());
    leaf.refund(60_MiB);
    CHECK(root.used() == 5_MiB);
    leaf.refund(5_MiB - 1);
    CHECK(root.used() == 0);
    CHECK(leaf.peak() == 65_MiB - 1);
}

TEST_CASE("steps never make a request fail, nor lift a peak", "[accounts]") {
    account root{name{"root"}, limit{100}};
    account one{root, name{"one"}, credit_step{64}}, two{root, name{"two"}, credit_step{64}};
    CHECK(one.try_charge(10));
    CHECK(root.used() == 64);
    CHECK(two.try_charge(90).fitted()); // what one has ahead is called in; no whole step fits
    CHECK(root.used() == 100);
    CHECK(one.used() == 10);
    CHECK_FALSE(one.try_charge(1));
    two.refund(90);
    CHECK(one.try_charge(1));
    CHECK(one.peak() == 11);
    CHECK(two.peak() == 90);
    one.refund(11);
    CHECK(root.verify());
}

TEST_CASE("steps above a child: what was charged before is not added to what comes later", "[accounts]") {
    account root{name{"root"}};
    account inner{root, name{"inner"}, credit_step{64}};
    account child{inner, name{"child"}};
    CHECK(inner.try_charge(60));
    inner.refund(60); // 64 are ahead
    CHECK(child.try_charge(100));
    CHECK(inner.used() == 100);
    CHECK(inner.peak() == 100);
    CHECK(root.used() == 164);
    CHECK(inner.try_charge(20));
    CHECK(inner.peak() == 120);
    inner.refund(20);
    child.refund(100);
    CHECK(root.verify());
}

TEST_CASE("credit at any depth is found, also after an account above it has ended", "[accounts]") {
    account root{name{"root"}, limit{1000}};
    auto middle = std::make_unique<account>(root, name{"middle"});
    account lower{*middle, name{"lower"}}, one{lower, name{"one"}, credit_step{100}},
        two{*middle, name{"two"}, credit_step{100}}, three{root, name{"three"}, credit_step{100}};
    account full{root, name{"full"}};
    for (account* const leaf : {&one, &two, &three}) {
        REQUIRE(leaf->try_charge(10));
        CHECK(leaf->stats().credit == 90);
    }
    CHECK(root.verify());
    CHECK(full.try_charge(970)); // all of their credit
    CHECK(one.stats().credit + two.stats().credit + three.stats().credit == 0);
    CHECK(root.verify());
    full.refund(970);
    for (account* const leaf : {&one, &two, &three}) REQUIRE(leaf->try_charge(10)); // they have credit again
    CHECK(one.stats().credit == 80);
    CHECK(!full.try_charge(941));
    CHECK(full.try_charge(940));
    full.refund(940);
    REQUIRE(one.try_charge(10));
    REQUIRE(three.try_charge(10));
    middle->close(); // closes those below, which are the root's now
    CHECK(one.stats().credit == 0);
    CHECK(root.verify());
    CHECK(full.try_charge(920));
    CHECK(root.verify());
    one.refund(30), two.refund(20), three.refund(30), full.refund(920);
    CHECK(root.used() == 0);
}

TEST_CASE("a level that refuses recalls only the credit below it", "[accounts]") {
    account root{name{"root"}, limit{1'000'000}};
    account query{root, name{"query"}, limit{1000}}, other{root, name{"other"}};
    account mine{query, name{"mine"}, credit_step{100}}, theirs{other, name{"theirs"}, credit_step{100}};
    REQUIRE(mine.try_charge(10));
    REQUIRE(theirs.try_charge(10));
    CHECK(!query.try_charge(991));
    CHECK(mine.stats().credit == 0);
    CHECK(theirs.stats().credit == 90);
    CHECK(root.verify());
    mine.refund(10), theirs.refund(10);
}

namespace {

// Leaves of which each has 63 bytes of credit, at two depths, and an account beside them that requests.
struct leaves_with_credit {
    static constexpr int n = 200;
    account root{name{"root"}, limit{n * 64}}, query{root, name{"query"}};
    std::deque<account> leaves;
    account other{root, name{"other"}};

    leaves_with_credit() {
        for (int i = 0; i != n; ++i) {
            leaves.emplace_back(i % 2 == 0 ? query : root, name{"leaf"}, credit_step{64});
            REQUIRE(leaves.back().try_charge(1));
        }
    }
    ~leaves_with_credit() {
        for (account& one : leaves) one.refund(1);
    }
    leaves_with_credit(const leaves_with_credit&) = delete;
    leaves_with_credit& operator=(const leaves_with_credit&) = delete;
    int with_credit() const {
        int found = 0;
        for (const account& one : leaves) found += one.stats().credit != 0;
        return found;
    }
};

} // namespace

TEST_CASE("steps: a request recalls no more credit than is missing, and none where all would not help", "[accounts]") {
    leaves_with_credit s;
    CHECK_FALSE(s.other.try_charge(200 * 64 + 1)); // beyond the limit
    CHECK_FALSE(s.other.fits(200 * 64 + 1));
    CHECK(s.with_credit() == 200);
    CHECK(s.other.fits(1));
    CHECK(s.with_credit() == 199);
    CHECK(s.other.try_charge(63));
    CHECK(s.with_credit() == 199);
    CHECK(s.other.try_charge(63 * 9 + 1));
    CHECK(s.with_credit() == 189);
    CHECK_FALSE(s.other.try_charge(63 * 190)); // a byte more than all of it
    CHECK(s.with_credit() == 0);
    CHECK(s.other.try_charge(63 * 190 - 1));
    CHECK(s.root.used() == s.root.limit());
    CHECK(s.root.verify());
    s.other.refund(63 * 200);
}

TEST_CASE("steps: a request is refused only where all credit would not serve, by force too", "[accounts]") {
    for (const std::size_t bytes : {std::size_t{63}, std::size_t{63 * 65}, std::size_t{63 * 200}}) {
        leaves_with_credit s;
        CHECK(s.other.try_charge(bytes).outcome == charge_outcome::fits);
        s.other.refund(bytes);
        CHECK_FALSE(s.other.reserve_for(63 * 200 + 5, 0_ms));
        CHECK(s.other.try_charge(63 * 200).outcome == charge_outcome::fits);
        CHECK_FALSE(s.other.try_charge(1));
        CHECK(s.other.force_charge(1).outcome == charge_outcome::forced);
        CHECK(s.root.verify());
        s.other.refund(63 * 200 + 1);
    }
}
