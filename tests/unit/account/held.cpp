// What is held and not confirmed: whom it concerns, and who waits for what becomes of it.
#include <support/asleep.hpp>
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>

#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <thread>

using namespace allot::literals;

using allot::account;
using allot::charge_outcome;
using allot::limit;
using allot::name;

namespace {

// Until the other thread has looked: it counts a refusal, or has been seen to wait.
void a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

} // namespace

TEST_CASE("bytes that another thread refunds before they are confirmed count in no peak", "[accounts][held]") {
    account root{name{"root"}, limit{100}};
    account leaf{root, name{"leaf"}}, beside{root, name{"beside"}};
    beside.charge(20);
    REQUIRE(leaf.try_hold(60));
    SECTION("all") {
        leaf.refund(60); // the memory was there, and is gone
        CHECK((leaf.used() == 0 && root.used() == 20 && root.verify()));
        beside.charge(1); // notes peaks
        leaf.confirm(60);
        CHECK((leaf.peak() == 0 && root.peak() == 21 && root.verify()));
    }
    SECTION("a part, beside what is held for another thread") {
        beside.charge(1);
        leaf.refund(50);
        REQUIRE(leaf.try_hold(7)); // by another one, which gets none of it
        leaf.confirm(60);
        CHECK((leaf.used() == 17 && leaf.peak() == 10 && root.peak() == 31 && root.verify()));
        leaf.cancel(7);
        leaf.refund(10);
        CHECK(root.verify());
    }
    SECTION("they are another account's by then") {
        beside.charge(1);
        CHECK(account::transfer(leaf, beside, 50).fitted());
        CHECK((beside.peak() == 71 && leaf.peak() == 0 && root.peak() == 71 && root.verify()));
        leaf.confirm(60);
        CHECK((leaf.peak() == 10 && root.peak() == 81 && root.verify()));
        leaf.refund(10), beside.refund(50);
    }
    CHECK((leaf.try_charge(79) && leaf.peak() == 79 && root.peak() == 100));
    leaf.refund(79);
    beside.refund(21);
    CHECK((root.used() == 0 && root.verify()));
}

TEST_CASE("a reservation is not refused for what is held and then not had", "[accounts][held]") {
    account root{name{"root"}, limit{100}};
    account leaf{root, name{"leaf"}}, later{root, name{"later"}};
    SECTION("a floor") {
        REQUIRE(leaf.try_hold(60));
        charge_outcome got = charge_outcome::misused;
        std::thread other{[&] { got = later.reserve_floor_for(50, 0_ms).status().outcome; }};
        a_moment();
        leaf.cancel(60);
        other.join();
        CHECK(got == charge_outcome::fits);
    }
    SECTION("bytes to come") {
        REQUIRE(leaf.try_hold(60));
        charge_outcome got = charge_outcome::misused;
        std::thread other{[&] { got = later.reserve_for(50, 0_ms).status().outcome; }};
        a_moment();
        leaf.cancel(60);
        other.join();
        CHECK(got == charge_outcome::fits);
        CHECK(root.used() == 0);
    }
    SECTION("what is had in the end refuses it") {
        REQUIRE(leaf.try_hold(60));
        std::thread other{[&] {
            CHECK_ON_THREAD(!later.reserve_for(50, 0_ms));
            CHECK_ON_THREAD(!later.reserve_floor_for(50, 0_ms));
        }};
        a_moment();
        leaf.confirm(60);
        other.join();
        leaf.refund(60);
    }
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("what is forced waits for nobody", "[accounts][held]") {
    account root{name{"root"}, limit{100}};
    account leaf{root, name{"leaf"}}, from{root, name{"from"}}, to{root, name{"to"}, limit{10}};
    REQUIRE(from.try_charge(20));
    REQUIRE(to.try_hold(5));
    REQUIRE(leaf.try_hold(60));
    std::thread other{[&] {
        const support::rescue held{"force and held bytes"};
        CHECK_ON_THREAD(from.force_charge(30).outcome == charge_outcome::forced);
        CHECK_ON_THREAD(account::transfer(from, to, 8).outcome == charge_outcome::forced);
    }};
    other.join();
    leaf.cancel(60);
    to.cancel(5);
    from.refund(42), to.refund(8);
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("what is held is nothing once its account is closed", "[accounts][held]") {
    account root{name{"root"}, limit{100}, allot::leak_sink{[](void*, std::string_view) noexcept {}, nullptr}};
    for (const bool confirms : {false, true}) {
        account leaf{root, name{"leaf"}, allot::leak_sink{[](void*, std::string_view) noexcept {}, nullptr}};
        REQUIRE(root.try_charge(10));
        REQUIRE(leaf.try_hold(40));
        CHECK_FALSE(leaf.close());
        if (confirms) leaf.confirm(40);
        else leaf.cancel(40);
        CHECK(root.used() == 10);
        CHECK(root.peak() == 10);
        CHECK(root.verify());
        root.refund(10);
    }
}

TEST_CASE("listeners hear of what was held and not had", "[accounts][held]") {
    struct sum : allot::account_listener {
        std::size_t bytes = 0;
        void after(const account&, std::size_t n, const allot::charge_status&) noexcept override { bytes += n; }
        void released(const account&, std::size_t n) noexcept override { bytes -= n; }
    } balance;
    account root{name{"root"}, limit{100}};
    account leaf{root, name{"leaf"}};
    allot::account_log log;
    leaf.set_log(&log);
    root.add(balance);
    REQUIRE(leaf.try_hold(40));
    CHECK(balance.bytes == 40);
    leaf.cancel(40);
    CHECK(balance.bytes == 0);
    CHECK(log.events() == 2);
    REQUIRE(leaf.try_hold(30));
    leaf.confirm(30);
    leaf.refund(30);
    CHECK(balance.bytes == 0);
    root.remove(balance);
}

TEST_CASE(
    "a request that only held bytes prevent sleeps until they are confirmed or cancelled, or others refund enough",
    "[accounts][held]") {
    const support::rescue ends{"a request that waits for held bytes"};
    account root{name{"root"}, limit{100}};
    account leaf{root, name{"leaf"}}, other{root, name{"other"}}, more{root, name{"more"}};
    REQUIRE(leaf.try_hold(50));
    REQUIRE(other.try_charge(50));
    // `changes` runs once the thread of `requests` sleeps, behind what calls says() in it.
    const auto sleeps = [&](auto requests, auto changes) {
        std::atomic<long> thread{0};
        std::thread waits{[&] { requests([&] { thread = support::this_thread(); }); }};
        while (thread == 0) std::this_thread::yield();
        support::until_asleep(thread);
        changes();
        waits.join();
    };
    bool granted = false;
    sleeps([&](auto says) { says(), granted = bool(more.try_charge(50)); },
           [&] { other.refund(50); }); // though the others stay held
    CHECK(granted);
    more.refund(50);
    REQUIRE(other.try_charge(50));
    sleeps([&](auto says) { says(), granted = bool(more.reserve_floor_for(50, 0_ms)); }, [&] { leaf.cancel(50); });
    CHECK(granted);
    REQUIRE(leaf.try_hold(50));
    bool held = true;
    sleeps( // one that is to hold lets those that wait go first
        [&](auto says) {
            std::atomic<long> thread{0};
            std::thread first{[&] { thread = support::this_thread(), granted = bool(more.try_charge(50)); }};
            while (thread == 0) std::this_thread::yield();
            support::until_asleep(thread);
            says();
            held = bool(more.try_hold(50));
            first.join();
        },
        [&] { leaf.confirm(50); });
    CHECK_FALSE(granted);
    CHECK_FALSE(held);
    leaf.refund(50);
    other.refund(50);
    CHECK(root.used() == 0);
    CHECK(root.verify());
}
