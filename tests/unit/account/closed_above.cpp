// The close of an account refuses charges below it, whatever holds the bytes there and however it closes.
#include <support/catch.hpp>
#include <support/on_small_stack.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>

#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::charge_outcome;
using allot::limit;
using allot::name;

namespace {

void silent(void*, std::string_view) noexcept {}
constexpr allot::leak_sink no_report{&silent, nullptr};
bool is_closed_by(const account& at, const allot::charge_status& s) {
    return s.outcome == charge_outcome::closed && s.at == &at;
}

enum class how { close, timed, drained };

void close(account& a, how by) {
    if (by == how::close) static_cast<void>(a.close());
    if (by == how::timed) static_cast<void>(a.close(allot::time_span{1}));
    if (by == how::drained) static_cast<void>(a.close_when_drained([](account&, void*) noexcept {}));
}

struct query_tree {
    account root{name{"root"}, limit{64_MiB}};
    account query{root, name{"query"}, no_report}, inner{query, name{"inner"}, no_report};
    account plain{inner, name{"plain"}, no_report},
        stepping{inner, name{"stepping"}, allot::credit_step{1_MiB}, no_report},
        own{query, name{"own"}, allot::credit_step{1_MiB}, no_report};
    account beside{root, name{"beside"}, allot::credit_step{64}};
    allot::account_reservation floor = inner.reserve_floor_for(1_MiB, 0_ms);

    template <class Visit> void each_below(Visit visit) {
        for (account* const a : {&inner, &plain, &stepping, &own}) visit(*a);
    }
};

} // namespace

TEST_CASE("a closed account refuses charges below it, and is named", "[accounts][closing]") {
    for (const how by : {how::close, how::timed, how::drained}) {
        query_tree t;
        t.each_below([](account& a) { REQUIRE(a.try_charge(10)); });
        REQUIRE(t.beside.try_charge(1));
        REQUIRE(t.stepping.stats().credit != 0);
        close(t.query, by);
        CHECK(t.root.verify());
        t.each_below([&](account& a) {
            INFO(a.name());
            CHECK_FALSE(a.is_open());
            CHECK(is_closed_by(t.query, a.try_charge(1)));
            CHECK(is_closed_by(t.query, a.force_charge(1)));
            CHECK(is_closed_by(t.query, a.try_hold(1)));
            CHECK(is_closed_by(t.query, a.reserve_for(1, 0_ms).status()));
            CHECK(is_closed_by(t.query, account::transfer(t.beside, a, 1)));
            CHECK_FALSE(a.fits(1));
            CHECK(a.headroom() == 0);
            const account late{a, name{"late"}, std::nothrow};
            CHECK_FALSE(late.is_open());
            CHECK(is_closed_by(t.query, late.refusal()));
            CHECK(a.used() >= 10);
        });
        std::string text;
        try {
            t.plain.charge(7);
        } catch (const allot::out_of_memory& e) {
            text = e.what();
        }
        CHECK(text.find("for account " + std::string(t.plain.path().text()) + ": closed: account query") !=
              std::string::npos);
        CHECK(t.root.used() >= 40); // until it is refunded
        CHECK(t.beside.try_charge(10));
        t.beside.refund(t.beside.used());
        t.each_below([](account& a) {
            a.refund(10);
            CHECK(a.stats().own == 0);
            CHECK_FALSE(a.try_charge(1));
        });
        t.plain.close(), t.stepping.close(), t.own.close(), t.inner.close();
        CHECK(t.query.has_ended());
        CHECK(t.root.used() == t.beside.stats().subtree_charge);
        CHECK(t.root.verify());
    }
}

TEST_CASE("credit of leaves below a closed account returns", "[accounts][closing]") {
    query_tree t;
    REQUIRE(t.stepping.try_charge(10));
    REQUIRE(t.own.try_charge(10));
    close(t.query, how::drained);
    CHECK(t.stepping.stats().credit == 0);
    CHECK(t.own.stats().credit == 0);
    CHECK(t.query.used() == 1_MiB + 10); // a reservation, and 10 bytes of `own`
    t.own.refund(10), t.stepping.refund(10);
    CHECK(t.query.used() == 1_MiB);
    CHECK(t.root.verify());
}

TEST_CASE("what is below an account that has ended stays closed", "[accounts][closing]") {
    account root{name{"root"}};
    auto query = std::make_unique<account>(root, name{"query"}, no_report);
    auto scan = std::make_unique<account>(*query, name{"scan"}, no_report);
    account leaf{*scan, name{"leaf"}, allot::credit_step{64}};
    REQUIRE(leaf.try_charge(10));
    query->close();
    CHECK(scan->parent() == &root);
    CHECK(is_closed_by(*query, leaf.try_charge(1)));
    query.reset();
    CHECK(is_closed_by(leaf, leaf.try_charge(1))); // no other account is left to be named
    CHECK(is_closed_by(*scan, scan->try_charge(1)));
    scan->close();
    CHECK(is_closed_by(leaf, leaf.try_charge(1)));
    CHECK(leaf.parent() == &root);
    CHECK(root.used() == 10);
    CHECK(root.verify());
    scan.reset();
    leaf.refund(10);
    CHECK(root.used() == 0);
    CHECK(leaf.close());
}

TEST_CASE("the account that closed first is named", "[accounts][closing]") {
    account root{name{"root"}};
    account query{root, name{"query"}, no_report}, scan{query, name{"scan"}, no_report},
        leaf{scan, name{"leaf"}, no_report};
    scan.close();
    query.close();
    CHECK(is_closed_by(scan, leaf.try_charge(1)));
    CHECK(is_closed_by(query, query.try_charge(1)));
    CHECK(is_closed_by(scan, scan.try_charge(1)));
}

TEST_CASE("bytes move within what is below a closed account, not into it", "[accounts][closing]") {
    for (const how by : {how::close, how::drained}) {
        query_tree t;
        REQUIRE(t.plain.try_charge(10));
        close(t.query, by);
        const std::size_t used = t.root.used();
        CHECK(account::transfer(t.plain, t.stepping, 4)); // as the heir of a buffer
        CHECK(t.root.used() == used);
        CHECK(account::transfer(t.plain, t.beside, 6).fitted()); // as a refund
        CHECK(is_closed_by(t.query, account::transfer(t.beside, t.plain, 6)));
        CHECK(t.beside.used() == 6);
        t.stepping.refund(4);
        t.beside.refund(6);
        CHECK(t.root.verify());
    }
}

TEST_CASE("bytes held while an account above closes can be confirmed", "[accounts][closing]") {
    query_tree t;
    REQUIRE(t.plain.try_hold(10));
    REQUIRE(t.stepping.try_hold(20));
    close(t.query, how::drained);
    t.plain.confirm(10);
    t.stepping.cancel(20);
    CHECK(t.plain.used() == 10);
    CHECK(t.stepping.used() == 0);
    t.plain.refund(10);
    CHECK(t.root.verify());
}

TEST_CASE("a closed root with a credit step keeps what was charged, not its credit", "[accounts][closing]") {
    account root{name{"root"}, allot::credit_step{1_MiB}, no_report};
    REQUIRE(root.try_charge(10));
    CHECK_FALSE(root.close());
    CHECK(root.used() == 10);
    CHECK(root.stats().own == 10);
    CHECK(root.stats().credit == 0);
    CHECK(root.verify());
    root.refund(10);
    CHECK(root.used() == 0);
}

TEST_CASE("a deep tree is verified, loses its top and closes on a small stack", "[accounts][closing]") {
    constexpr std::size_t levels = 50'000;
    account root{name{"root"}};
    bool right = false;
    support::on_small_stack([&] { // a call for each level would take more
        account top{root, name{"top"}};
        std::vector<std::unique_ptr<account>> all;
        auto middle = std::make_unique<account>(top, name{"middle"}, no_report);
        for (std::size_t i = 0; i != levels; ++i)
            all.push_back(std::make_unique<account>(i == 0 ? *middle : *all.back(), name{"below"}));
        right = root.verify();
        middle.reset(); // those below it have one level less
        right = right && root.verify();
        while (!all.empty()) all.pop_back();
    });
    CHECK((right && root.verify()));

    account query{root, name{"query"}, no_report};
    std::vector<std::unique_ptr<account>> below;
    for (std::size_t i = 0; i != levels; ++i)
        below.push_back(std::make_unique<account>(i == 0 ? query : *below.back(), name{"below"}));
    std::thread{[&] { CHECK_ON_THREAD(!query.close_when_drained([](account&, void*) noexcept {})); }}.join();
    CHECK(is_closed_by(query, below.back()->try_charge(1)));
    CHECK(is_closed_by(query, below[levels / 2]->try_charge(1)));
    CHECK(root.try_charge(1));
    root.refund(1);
    while (!below.empty()) below.pop_back();
    CHECK(query.has_ended());
}
