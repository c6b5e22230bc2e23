// Bytes promised to several accounts: all or none, and what the quotas of others got wrong.
#include <support/catch.hpp>
#include <support/tasks.hpp>

#include <allot/task/quota.hpp>

#include <atomic>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using allot::account;
using allot::charge_outcome;
using allot::charge_status;
using allot::limit;
using allot::name;
using allot::quota;
using namespace allot::literals;
using support::until;

namespace {

struct fixture {
    support::rescue ends{"a quota that waits for ever"};
    account engine{name{"engine"}, limit{300}};
    account a{engine, name{"a"}}, b{engine, name{"b"}}, c{engine, name{"c"}};
    ~fixture() { CHECK((engine.used() == 0 && engine.verify())); }
};

} // namespace

TEST_CASE("a batch is promised as a whole, and what is promised fits", "[task][quota]") {
    fixture f;
    {
        quota sure{f.engine};
        CHECK(sure.request({{f.a, 200}, {f.b, 100}}, 0_ms));
        CHECK((sure.promised(f.a) == 200 && sure.promised(f.b) == 100 && sure.promised(f.c) == 0));
        CHECK((f.engine.used() == 300 && f.engine.peak() == 300 && !f.c.try_charge(1)));
        CHECK((f.a.try_charge(200) && !f.a.try_charge(1) && f.b.try_charge(100)));
        f.a.refund(150);
        sure.hold(f.a);
        CHECK((sure.promised(f.a) == 50 && f.engine.used() == 150));
        sure.release(f.b); // what it uses stays charged
        CHECK((sure.promised(f.b) == 0 && f.engine.used() == 150));
        f.b.refund(100);
        CHECK(sure.request({{f.b, 10}}, 0_ms));
        sure.release();
        CHECK((sure.promised(f.a) == 0 && f.engine.used() == 50));
        CHECK((sure.request({{f.a, 300}}, 0_ms) && f.engine.used() == 300)); // it uses 50 of them
    }
    f.a.refund(50);
}

TEST_CASE("a request sets what an account has in all; what one gives up serves the others", "[task][quota]") {
    fixture f;
    quota sure{f.engine};
    CHECK(sure.request({{f.a, 200}, {f.b, 50}}, 0_ms));
    CHECK(sure.request({{f.a, 100}, {f.b, 200}}, 0_ms)); // never more than 300
    CHECK((sure.promised(f.a) == 100 && sure.promised(f.b) == 200 && f.engine.peak() == 300));
    CHECK_FALSE(sure.request({{f.a, 99}, {f.b, 202}}, 0_ms));
    CHECK((sure.promised(f.a) == 100 && sure.promised(f.b) == 200));
    CHECK((sure.request({{f.a, 0}, {f.c, 100}}, 0_ms) && f.engine.peak() == 300));
    CHECK((sure.promised(f.a) == 0 && sure.promised(f.c) == 100));
}

TEST_CASE("what no quota can promise fails at once, and changes nothing", "[task][quota]") {
    fixture f;
    quota sure{f.engine};
    CHECK(sure.request({{f.a, 10}}, 0_ms));
    charge_status s = sure.request({{f.a, 200}, {f.b, 111}}, allot::forever);
    CHECK((s.outcome == charge_outcome::over_limit && s.at == &f.engine));
    s = sure.request({{f.a, SIZE_MAX}, {f.b, SIZE_MAX}}, allot::forever);
    CHECK(s.outcome == charge_outcome::over_limit);
    s = sure.request({{f.a, 20}, {f.b, 1}, {f.a, 30}}, 0_ms);
    CHECK((s.outcome == charge_outcome::misused && std::string_view(s.name) == "an account is twice in a batch"));
    account below{f.a, name{"below"}};
    s = sure.request({{below, 1}}, 0_ms);
    CHECK(
        (s.outcome == charge_outcome::misused && std::string_view(s.name) == "the account is no child of the quota's"));
    CHECK((sure.request({{f.engine, 1}}, 0_ms).outcome == charge_outcome::misused));
    account small{f.engine, name{"small"}, limit{5}};
    CHECK((s = sure.request({{f.a, 20}, {small, 6}}, allot::forever), s.at == &small));
    small.close();
    CHECK((s = sure.request({{f.a, 20}, {small, 5}}, allot::forever), s.outcome == charge_outcome::closed));
    CHECK((sure.promised(f.a) == 10 && f.engine.used() == 10));
    CHECK((sure.request(std::span<const quota::share>{}, 0_ms) && f.engine.used() == 10));
}

TEST_CASE("a batch that waits is granted as it is then, and never beyond the limit", "[task][quota]") {
    fixture f;
    quota one{f.engine}, two{f.engine};
    CHECK(one.request({{f.a, 100}}, 0_ms));
    std::optional<charge_status> said;
    const auto note = [&](const charge_status& s) { said = s; };
    CHECK(two.request({{f.b, 200}, {f.c, 50}}, note).outcome == charge_outcome::queued);
    CHECK((two.promised(f.b) == 0 && f.engine.used() == 100));
    CHECK(two.request({{f.b, 1}}, 0_ms).outcome == charge_outcome::misused); // one after the other
    CHECK(two.request(std::span<const quota::share>{}, [](const charge_status&) {}).outcome == charge_outcome::misused);
    one.hold(f.a); // it uses nothing
    REQUIRE(said);
    CHECK((*said && two.promised(f.b) == 200 && two.promised(f.c) == 50 && f.engine.peak() == 250));
    said.reset();
    CHECK(one.request({{f.a, 60}}, note).outcome == charge_outcome::queued);
    CHECK((one.cancel() && !one.cancel() && !said));
    two.release();
    CHECK((!said && one.request({{f.a, 300}}, 0_ms)));
}

TEST_CASE("nothing more is granted though a large batch waits; a larger one is not passed for ever", "[task][quota]") {
    fixture f;
    quota one{f.engine}, large{f.engine}, small{f.engine};
    CHECK(one.request({{f.a, 200}}, 0_ms));
    int granted = 0;
    const auto count = [&](const charge_status& s) { granted += s.charged(); };
    CHECK(large.request({{f.b, 200}}, count).outcome == charge_outcome::queued);
    CHECK((small.request({{f.c, 0}}, 0_ms) && small.request({{f.c, 10}}, 0_ms))); // it passes, since it fits
    CHECK((one.request({{f.a, 200}}, 0_ms) && one.request({{f.a, 150}}, 0_ms)));
    CHECK((granted == 0 && small.request({{f.c, 0}}, 0_ms)));
    CHECK((one.request({{f.a, 100}}, 0_ms) && granted == 1 && large.promised(f.b) == 200));
}

TEST_CASE("a thread waits for a batch; the promises of one that ends come back", "[task][quota]") {
    fixture f;
    quota waits{f.engine};
    std::jthread ends;
    {
        quota one{f.engine};
        CHECK(one.request({{f.a, 300}}, 0_ms));
        ends = std::jthread([&] {
            CHECK_ON_THREAD(waits.request({{f.b, 100}, {f.c, 100}}, allot::forever));
            CHECK_ON_THREAD(!waits.request({{f.b, 400}}, 5_ms));
        });
        until([&] { return f.engine.stats().waiting == 1; });
    }
    ends.join();
    CHECK((f.engine.used() == 200 && waits.promised(f.c) == 100));
    {
        quota gone{f.engine};
        bool called = false;
        CHECK(gone.request({{f.a, 200}}, [&](const charge_status&) { called = true; }).outcome ==
              charge_outcome::queued);
        CHECK_FALSE(called);
    } // it waits no more
    waits.release();
}

TEST_CASE("bytes that an account uses are given to no other", "[task][quota]") {
    fixture f;
    quota sure{f.engine};
    CHECK((sure.request({{f.a, 250}, {f.b, 20}}, 0_ms) && f.a.try_charge(250)));
    CHECK_FALSE(sure.request({{f.a, 100}, {f.b, 200}}, 5_ms)); // a still uses 250
    CHECK((sure.promised(f.a) == 250 && sure.promised(f.b) == 20 && f.engine.peak() <= 300));
    CHECK(sure.request({{f.a, 100}, {f.b, 50}}, 0_ms));
    CHECK((sure.promised(f.a) == 100 && sure.promised(f.b) == 50 && f.engine.used() == 300));
    std::optional<charge_status> said;
    CHECK(sure.request({{f.b, 200}}, [&](const charge_status& s) { said = s; }).outcome == charge_outcome::queued);
    f.a.refund(250);
    CHECK((said && *said && sure.promised(f.b) == 200 && f.engine.used() == 300));
}

TEST_CASE("threads: promises that change beside charges never pass the limit", "[task][quota][threads]") {
    fixture f;
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t != 3; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random{t};
            account mine{f.engine, name{"mine"}}, other{f.engine, name{"other"}};
            quota sure{f.engine};
            std::size_t used = 0;
            for (int i = 0; i != 2000; ++i) {
                static_cast<void>(sure.request({{mine, random() % 120}, {other, random() % 120}}, 0_ms));
                mine.refund(std::exchange(used, 0));
                if (const std::size_t more = random() % 150; mine.try_charge(more)) used = more;
            }
            mine.refund(used);
        });
    threads.clear();
    CHECK(f.engine.peak() <= 300);
}

TEST_CASE("what a batch adds is computed again when it is granted", "[task][quota]") {
    fixture f;
    account d{f.engine, name{"d"}};
    quota others{f.engine}, sure{f.engine};
    CHECK((others.request({{d, 150}}, 0_ms) && sure.request({{f.a, 100}}, 0_ms)));
    std::optional<charge_status> said;
    const auto note = [&](const charge_status& s) { said = s; };
    CHECK(sure.request({{f.a, 0}, {f.b, 200}}, note).outcome == charge_outcome::queued); // 100 more, as it is now
    REQUIRE(f.a.try_charge(100)); // its own: so it gives up none, and the batch needs 200
    others.release();
    CHECK((said && *said && sure.promised(f.b) == 200 && f.engine.used() == 300 && f.engine.peak() <= 300));
    f.a.refund(100);
}

TEST_CASE("a batch that an account refuses in the end is refused as a whole, and says so", "[task][quota]") {
    fixture f;
    quota others{f.engine}, sure{f.engine};
    CHECK((others.request({{f.c, 150}}, 0_ms) && sure.request({{f.a, 100}, {f.b, 10}}, 0_ms)));
    std::optional<charge_status> said;
    CHECK(sure.request({{f.a, 0}, {f.b, 200}}, [&](const charge_status& s) { said = s; }).outcome ==
          charge_outcome::queued);
    f.b.set_limit(50); // meanwhile
    others.release();
    CHECK((said && said->outcome == charge_outcome::over_limit && said->at == &f.b));
    CHECK((sure.promised(f.a) == 100 && sure.promised(f.b) == 10 && f.engine.used() == 110));
    CHECK(others.request({{f.c, 190}}, 0_ms)); // all is taken
    CHECK(sure.request({{f.b, 51}}, allot::forever).at == &f.b);
}

TEST_CASE("a batch that waits keeps nothing that it had not before", "[task][quota]") {
    fixture f;
    quota one{f.engine}, two{f.engine};
    f.a.charge(180), f.b.charge(120);
    int granted = 0;
    const auto count = [&](const charge_status& s) { granted += s.charged(); };
    CHECK(one.request({{f.a, 240}}, count).outcome == charge_outcome::queued);
    CHECK(two.request({{f.b, 180}}, count).outcome == charge_outcome::queued);
    CHECK((one.promised(f.a) == 0 && two.promised(f.b) == 0));
    f.b.refund(60); // one lacks 60 and two 120: neither more than what is free
    CHECK((granted == 1 && one.promised(f.a) == 240 && f.engine.used() == 300));
    one.release();
    CHECK((granted == 1 && f.engine.used() == 240));
    f.a.refund(180);
    CHECK((granted == 2 && two.promised(f.b) == 180 && f.engine.used() == 180));
    f.b.refund(60);
}

TEST_CASE("a batch is granted when it fits beside what is in use then", "[task][quota]") {
    for (const bool by_thread : {false, true}) {
        fixture f;
        quota sure{f.engine};
        f.c.charge(180);
        bool granted = false;
        std::jthread waits;
        if (by_thread) {
            waits = std::jthread([&] { granted = bool(sure.request({{f.a, 180}}, allot::forever)); });
            until([&] { return f.engine.stats().waiting == 1; });
        } else {
            const auto note = [&](const charge_status& s) { granted = bool(s); };
            REQUIRE(sure.request({{f.a, 180}}, note).outcome == charge_outcome::queued);
        }
        f.a.charge(90); // a part of the 180
        f.c.refund(75); // 195 are used, and 90 are missing
        if (by_thread) waits.join();
        CHECK((granted && f.engine.used() == 285));
        f.a.refund(90), f.c.refund(105);
    }
}

TEST_CASE("promises of several quotas to one account add up, and each is given up by itself", "[task][quota]") {
    fixture f;
    quota one{f.engine}, two{f.engine};
    CHECK((one.request({{f.a, 150}}, 0_ms) && two.request({{f.a, 150}}, 0_ms)));
    f.a.charge(180);
    CHECK(one.request({{f.a, 0}, {f.b, 120}}, 0_ms)); // what a uses beyond two's stays charged: 180 and 120
    CHECK((one.promised(f.b) == 120 && f.engine.used() == 300 && f.engine.peak() == 300));
    std::optional<charge_status> said;
    CHECK(one.request({{f.b, 130}}, [&](const charge_status& s) { said = s; }).outcome == charge_outcome::queued);
    two.release(f.a); // a uses it all
    CHECK((!said && f.engine.used() == 300));
    f.a.refund(10);
    CHECK((said && *said && f.engine.used() == 300));
    f.a.refund(170);
}

TEST_CASE("a batch waits at the account whose own limit other promises fill, then at the parent", "[task][quota]") {
    fixture f;
    f.a.set_limit(100), f.b.set_limit(100);
    quota others{f.engine}, of_b{f.engine}, sure{f.engine};
    REQUIRE((others.request({{f.a, 60}}, 0_ms) && of_b.request({{f.b, 60}}, 0_ms)));
    std::optional<charge_status> said;
    charge_status s = sure.request({{f.a, 50}, {f.b, 50}, {f.c, 100}}, [&](const charge_status& how) { said = how; });
    CHECK((s.outcome == charge_outcome::queued && s.at == &f.a));
    others.release();
    f.c.charge(240);
    CHECK_FALSE(said); // b refuses now
    of_b.release();
    CHECK_FALSE(said); // the engine
    f.c.refund(40);
    CHECK((said && *said && f.engine.used() == 300));
    f.c.refund(200);
}

TEST_CASE("a batch that can fit no more is refused at once, also while it waits", "[task][quota]") {
    for (const bool closes : {false, true})
        for (const bool by_thread : {false, true}) {
            fixture f;
            account d{f.engine, name{"d"}};
            quota others{f.engine}, sure{f.engine};
            REQUIRE((others.request({{f.c, 300}}, 0_ms)));
            std::optional<charge_status> said;
            std::jthread waits;
            if (by_thread) {
                waits = std::jthread([&] { said = sure.request({{f.a, 10}, {d, 10}}, allot::forever); });
                until([&] { return f.engine.stats().waiting == 1; });
            } else {
                REQUIRE(sure.request({{f.a, 10}, {d, 10}}, [&](const charge_status& s) { said = s; }).outcome ==
                        charge_outcome::queued);
            }
            if (closes) d.close();
            else d.set_limit(9);
            if (by_thread) waits.join();
            REQUIRE(said);
            CHECK(said->outcome == (closes ? charge_outcome::closed : charge_outcome::over_limit));
            CHECK((said->at == &d && f.engine.used() == 300));
        }
    fixture f; // what the quota promises already, and keeps, is a part of it
    quota sure{f.engine};
    REQUIRE(sure.request({{f.a, 250}}, 0_ms));
    f.a.charge(250);
    CHECK(sure.request({{f.b, 60}}, [](const charge_status&) {}).outcome == charge_outcome::over_limit);
    CHECK(sure.request({{f.b, 60}}, allot::forever).requested == 310);
    f.a.refund(250);
}

TEST_CASE("a promise of bytes that are charged by force meanwhile needs no others", "[task][quota]") {
    fixture f;
    quota sure{f.engine};
    f.c.charge(300);
    bool granted = false;
    REQUIRE(sure.request({{f.a, 50}}, [&](const charge_status& s) { granted = bool(s); }).outcome ==
            charge_outcome::queued);
    CHECK(f.a.force_charge(49).outcome == charge_outcome::forced);
    CHECK_FALSE(granted);
    f.a.force_charge(1);
    CHECK((granted && f.engine.used() == 350));
    f.a.refund(50), f.c.refund(300);
}

TEST_CASE("fewer bytes are never refused, and a refusal leaves no account behind", "[task][quota]") {
    fixture f;
    quota sure{f.engine};
    REQUIRE(sure.request({{f.a, 100}, {f.b, 50}}, 0_ms));
    f.a.set_limit(20), f.engine.set_limit(30);
    CHECK((sure.request({{f.a, 60}}, 0_ms) && f.engine.used() == 110));
    CHECK((sure.request({{f.a, 0}}, 0_ms) && f.engine.used() == 50));
    account d{f.engine, name{"d"}};
    d.close();
    CHECK(sure.request({{f.c, 1}, {d, 1}}, 0_ms).outcome == charge_outcome::closed);
    for (account* const a : {&f.a, &f.c}) {
        bool ended = a->close_when_drained([](account&, void* to) noexcept { *static_cast<bool*>(to) = true; }, &ended);
        CHECK(ended); // no promise of nothing delays it
    }
}

TEST_CASE("levels above the parent of a quota are counted, and a reservation there pays", "[task][quota]") {
    fixture f;
    account group{f.a, name{"group"}, limit{250}}, x{group, name{"x"}}, y{group, name{"y"}};
    quota sure{group};
    f.c.charge(200);
    std::optional<charge_status> said;
    const auto note = [&](const charge_status& s) { said = s; };
    const charge_status s = sure.request({{x, 100}, {y, 100}}, note);
    CHECK((s.outcome == charge_outcome::queued && s.at == &f.engine && s.requested == 200 && group.used() == 0));
    f.c.refund(100);
    CHECK((said && *said && group.used() == 200 && f.engine.used() == 300));
    sure.release(), said.reset();
    const allot::account_reservation least = f.a.reserve_floor_for(200, 0_ms);
    REQUIRE((least && f.engine.used() == 300));
    CHECK((sure.request({{x, 150}, {y, 50}}, 0_ms) && f.engine.used() == 300)); // of the reservation
    CHECK(sure.request({{y, 51}}, note).outcome == charge_outcome::queued);
    f.c.refund(100);
    CHECK((said && *said && f.engine.used() == 201));
}

TEST_CASE("threads: batches that fit at every moment are never refused", "[task][quota][threads]") {
    fixture f; // at most 100 are charged to each account and 2 x 50 promised, so at most 200 count
    std::vector<std::jthread> threads;
    std::atomic<bool> stop{false};
    for (account* const x : {&f.a, &f.b})
        threads.emplace_back([&, x] {
            for (std::mt19937 random; !stop;)
                if (const std::size_t n = random() % 101; x->try_charge(n)) std::this_thread::yield(), x->refund(n);
        });
    std::atomic<unsigned> refused{0};
    {
        std::vector<std::jthread> requests;
        for (unsigned t = 0; t != 2; ++t)
            requests.emplace_back([&, t] {
                std::mt19937 random{t};
                quota sure{f.engine};
                for (int i = 0; i != 3000; ++i)
                    refused += !sure.request({{f.a, random() % 51}, {f.b, random() % 51}}, 0_ms);
            });
    }
    stop = true;
    threads.clear();
    CHECK((refused == 0 && f.engine.peak() <= 200));
}
