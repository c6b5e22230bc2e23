// Bytes promised to several accounts: all or none, and what the quotas of others got wrong.
#include <support/catch.hpp>
#include <support/tasks.hpp>

#include <allot/task/quota.hpp>

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
            CHECK(waits.request({{f.b, 100}, {f.c, 100}}, allot::forever));
            CHECK_FALSE(waits.request({{f.b, 400}}, 5_ms));
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
