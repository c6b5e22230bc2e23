// Reclaimers of a tree of accounts: who is called for a refused request, in which order, and until when.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/task.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

// Holds bytes of an account, and frees up to `step` of them per call; in a critical shortage all.
struct holder final : allot::reclaimer {
    holder(account& above, const char* text, std::uint32_t cost, std::size_t bytes, std::string& told)
        : reclaimer(text, cost), at{above, allot::name{text}}, step{bytes}, said{told} {
        REQUIRE(at.try_charge(bytes));
        at.add(*this);
    }
    ~holder() {
        at.remove(*this);
        at.refund(at.used());
    }
    bool helps(const allot::shortage& s) const noexcept override { return helpful && (s.critical || !only_critical); }
    bool reclaim(const allot::shortage& s) noexcept override {
        said += name();
        if (s.critical) said += '!';
        if (inside) inside(s);
        const std::size_t held = at.used(), bytes = s.critical || step > held ? held : step;
        at.refund(bytes);
        return bytes != 0;
    }
    account at;
    std::size_t step;
    std::string& said;
    bool helpful = true, only_critical = false;
    std::function<void(const allot::shortage&)> inside;
};
std::string taken(std::string& said) { return std::exchange(said, {}); }

} // namespace

TEST_CASE("the lowest cost is called first, and only until the request is granted", "[reclaim]") {
    std::string said;
    account query{name{"query"}, limit{100}};
    account leaf{query, name{"leaf"}};
    holder dear{query, "d", 7, 30, said}, cheap{query, "c", 2, 30, said}, other{query, "o", 4, 30, said};
    CHECK(leaf.try_charge(20)); // 10 are missing
    CHECK(taken(said) == "c");
    CHECK(cheap.freed() == 30);
    CHECK(leaf.try_charge(20)); // what is free now is enough
    CHECK(taken(said).empty());
    CHECK(leaf.try_charge(50));
    CHECK(taken(said) == "cod");
    CHECK(leaf.used() == 90);
    CHECK(query.stats().refused == 0);
    CHECK(!leaf.try_charge(11)); // nobody has more; the critical pass asks once more
    CHECK(taken(said) == "codc!o!d!");
    CHECK(query.stats().refused == 1);
    CHECK(!leaf.try_charge(101)); // could not be granted in any case
    CHECK(taken(said).empty());
    leaf.refund(90);
}

TEST_CASE("reclaimers of one cost are called in turn", "[reclaim]") {
    std::string said;
    account query{name{"query"}, limit{90}};
    account leaf{query, name{"leaf"}};
    holder a{query, "a", 1, 30, said}, b{query, "b", 1, 30, said}, c{query, "c", 1, 30, said};
    for (holder* const each : {&a, &b, &c}) each->step = 10;
    for (const char* const turn : {"a", "b", "c", "a", "b", "c"}) {
        CHECK(leaf.try_charge(10));
        CHECK(taken(said) == turn);
    }
    CHECK(leaf.try_charge(30)); // three at once
    CHECK(taken(said) == "abc");
    leaf.refund(90);
}

TEST_CASE("only reclaimers at and below the account that refused are called", "[reclaim]") {
    std::string said;
    account engine{name{"engine"}, limit{100}};
    account one{engine, name{"one"}, limit{60}}, two{engine, name{"two"}, limit{40}};
    holder a{one, "a", 1, 50, said}, b{two, "b", 1, 30, said};
    account leaf{two, name{"leaf"}};
    CHECK(leaf.try_charge(20)); // refused by `two`
    CHECK(taken(said) == "b");
    CHECK(leaf.try_charge(20));
    account large{engine, name{"large"}};
    CHECK(large.try_charge(60)); // refused by `engine`
    CHECK(taken(said) == "a");
    leaf.refund(40);
    large.refund(60);
}

TEST_CASE("one that does not help is not called; one may wait for the critical pass", "[reclaim]") {
    std::string said;
    account query{name{"query"}, limit{100}};
    account leaf{query, name{"leaf"}};
    holder a{query, "a", 1, 50, said}, b{query, "b", 2, 50, said};
    a.helpful = false;
    b.only_critical = true;
    CHECK(leaf.try_charge(50));
    CHECK(taken(said) == "b!");
    leaf.refund(50);
}

TEST_CASE("a call may unregister reclaimers, its own too, and add others", "[reclaim]") {
    std::string said;
    account query{name{"query"}, limit{100}};
    account leaf{query, name{"leaf"}};
    holder a{query, "a", 1, 30, said}, b{query, "b", 2, 30, said}, c{query, "c", 3, 30, said};
    a.inside = [&](const allot::shortage&) {
        CHECK_FALSE(a.at.remove(a)); // behind this call
        CHECK(b.at.remove(b));
    };
    CHECK(leaf.try_charge(60));
    CHECK(taken(said) == "ac");
    CHECK(a.at.remove(a));
    a.inside = nullptr;
    leaf.refund(60);
    REQUIRE(c.at.try_charge(70));
    c.inside = [&](const allot::shortage&) { a.at.add(a); }; // not called in this pass
    c.step = 70;
    CHECK(leaf.try_charge(60));
    CHECK(taken(said) == "c");
    c.inside = nullptr;
    leaf.refund(60);
    REQUIRE(a.at.try_charge(40));
    CHECK(leaf.try_charge(40));
    CHECK(taken(said).front() == 'a');
    leaf.refund(40);
}

TEST_CASE("the end of a reclaimer waits for a call of it by another thread", "[reclaim][threads]") {
    struct slow final : allot::reclaimer {
        slow() : reclaimer("slow", 1) {}
        bool reclaim(const allot::shortage&) noexcept override {
            begun = true;
            while (!goes_on) std::this_thread::yield();
            ended = true;
            return false;
        }
        std::atomic<bool> begun{false}, goes_on{false}, ended{false};
    };
    account engine{name{"engine"}, limit{100}};
    slow one;
    engine.add(one);
    const std::jthread asks([&] {
        static_cast<void>(engine.try_charge(60));
        CHECK_ON_THREAD(!engine.try_charge(60));
        engine.refund(60);
    });
    while (!one.begun) std::this_thread::yield();
    const std::jthread lets_go([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        one.goes_on = true;
    });
    engine.remove(one);
    CHECK(one.ended);
}

TEST_CASE("a request inside a call is served from what is free, or refused", "[reclaim]") {
    std::string said;
    account query{name{"query"}, limit{100}};
    account leaf{query, name{"leaf"}};
    holder a{query, "a", 1, 90, said};
    a.inside = [&](const allot::shortage&) {
        CHECK(a.at.try_charge(5));
        CHECK_FALSE(a.at.try_charge(20));
        a.at.refund(5);
        account child{query, name{"child"}};
        CHECK_FALSE(child.reserve_floor_for(50, 0_ms));
    };
    CHECK(leaf.try_charge(50));
    CHECK(taken(said) == "a");
    leaf.refund(50);
}

TEST_CASE("reservations and transfers call reclaimers too; forced charges and pages do not", "[reclaim]") {
    struct quiet : allot::policies<allot::ledger::tree, allot::oom::null> {};
    std::string said;
    account query{name{"query"}, limit{std::size_t{1} << 20}};
    account leaf{query, name{"leaf"}}, part{query, name{"part"}, limit{600'000}};
    holder a{query, "a", 1, 900'000, said};
    a.step = 300'000;
    {
        const auto sure = leaf.reserve_for(400'000, 0_ms);
        CHECK(sure);
        CHECK(taken(said) == "a");
    }
    account child{query, name{"child"}};
    const auto floor = child.reserve_floor_for(700'000, 0_ms);
    CHECK(floor);
    CHECK(taken(said) == "a");
    holder b{part, "b", 1, 250'000, said};
    REQUIRE(taken(said).size() <= 3);
    b.step = 250'000;
    allot::row_manager<quiet> rows{query, allot::page_bytes{16384}};
    CHECK(rows.try_allocate(900'000) == nullptr); // rows of others are not spilled for pages: the set asks nobody
    CHECK(taken(said).empty());
}

TEST_CASE("threads that fail together cause one sweep", "[reclaim][threads]") {
    struct slow final : allot::reclaimer {
        explicit slow(account& to) : reclaimer("slow"), at{to} {}
        bool reclaim(const allot::shortage&) noexcept override {
            while (waiting.load() < 4) std::this_thread::yield();
            for (int i = 0; i != 1000; ++i) std::this_thread::yield(); // all others are refused by now
            const std::size_t bytes = at.used();
            at.refund(bytes);
            return bytes != 0;
        }
        account& at;
        std::atomic<int> waiting{0};
    };
    account query{name{"query"}, limit{100}};
    account cache{query, name{"cache"}}, leaf{query, name{"leaf"}};
    REQUIRE(cache.try_charge(100));
    slow drops{cache};
    cache.add(drops);
    std::atomic<int> granted{0};
    std::vector<std::thread> all;
    for (int i = 0; i != 4; ++i)
        all.emplace_back([&] {
            ++drops.waiting;
            if (leaf.try_charge(25)) ++granted;
        });
    for (auto& each : all) each.join();
    CHECK(granted == 4);
    CHECK(drops.calls() == 1);
    cache.remove(drops);
    leaf.refund(100);
}

TEST_CASE("reclaimers of two trees that need each other do not wait for each other", "[reclaim][threads]") {
    struct crossing final : allot::reclaimer {
        crossing(account& mine, account& other) : reclaimer("crossing"), at{mine}, beside{other} {}
        bool reclaim(const allot::shortage&) noexcept override {
            if (beside.try_charge(60)) beside.refund(60); // may need a sweep of the other tree
            if (at.used() < 10) return false;
            at.refund(10);
            return true;
        }
        account &at, &beside;
    };
    account left{name{"left"}, limit{100}}, right{name{"right"}, limit{100}};
    account left_cache{left, name{"cache"}}, right_cache{right, name{"cache"}};
    crossing one{left_cache, right}, two{right_cache, left};
    left_cache.add(one);
    right_cache.add(two);
    const auto load = [](account& tree, account& cache) {
        for (int i = 0; i != 300; ++i) {
            if (cache.try_charge(30)) {
            }
            account leaf{tree, name{"leaf"}};
            if (leaf.try_charge(80)) leaf.refund(80);
        }
    };
    std::thread a([&] { load(left, left_cache); }), b([&] { load(right, right_cache); });
    a.join();
    b.join();
    left_cache.remove(one);
    right_cache.remove(two);
    left_cache.refund(left_cache.used());
    right_cache.refund(right_cache.used());
    CHECK(left.used() == 0);
    CHECK(right.used() == 0);
}

TEST_CASE("a refused request looks at each reclaimer twice at most", "[reclaim]") {
    struct unhelpful final : allot::reclaimer {
        std::size_t& looks;
        explicit unhelpful(std::size_t& n) : reclaimer("unhelpful"), looks(n) {}
        bool helps(const allot::shortage&) const noexcept override { return ++looks, false; }
        bool reclaim(const allot::shortage&) noexcept override { return true; }
    };
    std::size_t looks = 0;
    account query{name{"query"}, limit{100}};
    std::deque<unhelpful> all;
    for (int i = 0; i != 1000; ++i) query.add(all.emplace_back(looks));
    CHECK_FALSE(query.try_charge(101));
    CHECK(looks == 0);
    REQUIRE(query.try_charge(100));
    CHECK(looks == 0);
    CHECK_FALSE(query.try_charge(1));
    CHECK(looks == 2000); // the critical pass, too
    CHECK(all.front().calls() == 0);
    for (unhelpful& r : all) query.remove(r);
    query.refund(100);
}

TEST_CASE("a sweep ends when its request can no longer be granted", "[reclaim]") {
    for (const bool closes : {false, true}) {
        std::string said;
        account root{name{"root"}, limit{1000}};
        account query{root, name{"query"}};
        holder cached{root, "c", 1, 1000, said};
        cached.step = 10;
        cached.inside = [&](const allot::shortage&) {
            if (cached.calls() != 5) return;
            if (closes) query.close();
            else root.set_limit(400);
        };
        const allot::charge_status s = query.try_charge(500);
        CHECK(s.outcome == (closes ? allot::charge_outcome::closed : allot::charge_outcome::over_limit));
        CHECK(cached.calls() == 5);
        CHECK(cached.at.used() == 950);
    }
}

TEST_CASE("a reclaimer whose account is closed is not called, and can be removed later", "[reclaim]") {
    std::string said;
    account root{name{"root"}, limit{1000}};
    account above{root, name{"above"}};
    holder still{root, "s", 2, 100, said};
    holder cached{above, "c", 1, 800, said};
    const auto listed = [&] {
        int n = 0;
        root.visit_reclaimers([&](const allot::reclaimer&) { ++n; });
        return n;
    };
    CHECK(listed() == 2);
    cached.at.refund(800);
    CHECK(cached.at.close());
    CHECK(above.close()); // the closed account is not its child any more
    CHECK(listed() == 1);
    CHECK(root.try_charge(1000));
    CHECK(said == "s");
    CHECK(cached.at.remove(cached));
    root.refund(1000);

    holder closes{root, "x", 1, 10, said}; // inside a call of it
    closes.inside = [&](const allot::shortage&) { closes.at.close(); };
    CHECK(root.try_charge(1000));
    root.refund(1000);
}

TEST_CASE("bytes that a reclaimer frees count, whatever it returns", "[reclaim]") {
    struct modest final : allot::reclaimer {
        account& at;
        explicit modest(account& a) : reclaimer("modest"), at(a) {}
        bool reclaim(const allot::shortage&) noexcept override { return at.refund(100), false; }
    };
    account root{name{"root"}, limit{1000}};
    REQUIRE(root.try_charge(1000));
    modest r{root};
    root.add(r);
    CHECK(root.try_charge(50));
    CHECK(r.calls() == 1);
    root.remove(r);
    root.refund(950);
}

#if ALLOT_EXCEPTIONS
TEST_CASE("the page of a refusal says what was asked to free memory, and what each gave", "[reclaim]") {
    struct answers final : allot::reclaimer {
        account& at;
        explicit answers(account& a) : reclaimer("cached answers", 2), at(a) {}
        bool reclaim(const allot::shortage&) noexcept override {
            if (at.used() < 100) return false;
            at.refund(100);
            return true;
        }
        std::size_t reclaimable(const account&) const noexcept override { return at.used(); }
    };
    account engine{name{"engine"}, limit{2000}}, elsewhere{engine, name{"elsewhere"}};
    account query{engine, name{"query 7"}, limit{1000}};
    account cached{query, name{"cached"}}, leaf{query, name{"leaf"}};
    REQUIRE(cached.try_charge(350));
    answers cache{cached}, far{elsewhere};
    cached.add(cache), elsewhere.add(far);
    try {
        leaf.charge(990);
        FAIL("it was granted");
    } catch (const allot::out_of_memory& e) {
        const std::string page = e.report();
        CHECK_THAT(page, ContainsSubstring("asked to free memory:"));
        CHECK_THAT(page, ContainsSubstring("cached answers, cost 2: 5 calls freed 300 bytes in "));
        CHECK_THAT(page, ContainsSubstring("50 bytes reclaimable"));
        CHECK_THAT(page, ContainsSubstring("unused memory of 0 objects: 0 calls freed 0 bytes"));
        CHECK(page.find("cached answers") == page.rfind("cached answers")); // not the one elsewhere
    }
    cached.remove(cache), elsewhere.remove(far);
    cached.refund(50);
}
#endif

namespace {

// Says that it freed something, and did not.
struct liar final : allot::reclaimer {
    liar(account& a, std::uint32_t cost) : reclaimer("liar", cost), at(a) { at.add(*this); }
    ~liar() { at.remove(*this); }
    bool reclaim(const allot::shortage& s) noexcept override {
        critical += s.critical;
        return ++told < 1000;
    }
    account& at;
    std::size_t told = 0, critical = 0;
};

} // namespace

TEST_CASE("a reclaimer that frees nothing whatever it says is called nine times for one request", "[reclaim]") {
    account root{name{"root"}, limit{100}};
    REQUIRE(root.try_charge(100));
    {
        liar costly{root, 1};
        CHECK_FALSE(root.try_charge(50));
        CHECK((costly.told == 9 && costly.critical == 1));
        CHECK_FALSE(root.reserve_for(50, 0_ms));
        CHECK(costly.told == 18);
    }
    {
        liar idle{root, allot::reclaimer::idle};
        CHECK_FALSE(root.try_charge(50));
        CHECK(idle.told == 8);
    }
    {
        liar idle{root, allot::reclaimer::idle}, costly{root, 1};
        CHECK_FALSE(root.try_charge(50));
        CHECK(costly.told == 9);
        CHECK(idle.told <= 8 + 9); // once more behind each call of the other
    }
    struct rows_of_root : allot::policies<allot::ledger::tree, allot::spill::chain, allot::oom::null> {};
    {
        account above{name{"above"}, limit{1 << 20}};
        liar costly{above, 1};
        allot::row_manager<rows_of_root> rows{above};
        std::vector<void*> held;
        while (void* const row = rows.try_allocate(50'000)) held.push_back(row);
        CHECK(costly.told == 9);
        for (void* const row : held) rows.release(row);
    }
    root.refund(100);
}

TEST_CASE("a sweep holds up no other level, no deadline and no cancellation", "[reclaim][threads]") {
    const support::rescue ends{"a request that waits for the sweep of another level"};
    std::string said, quick;
    account engine{name{"engine"}, limit{100}};
    account one{engine, name{"one"}}, two{engine, name{"two"}, limit{40}};
    std::atomic<bool> called{false}, goes_on{false};
    holder slow{one, "s", 1, 60, said}, cache{two, "c", 1, 40, quick};
    slow.inside = [&](const allot::shortage& s) {
        CHECK_ON_THREAD(s.requester == &one);
        CHECK_ON_THREAD(s.task == UINT32_MAX);
        called = true;
        while (!goes_on) std::this_thread::yield();
    };
    std::thread sweeps{[&] {
        if (one.charge_for(30, allot::forever)) one.refund(30);
    }};
    while (!called) std::this_thread::yield();
    account query{two, name{"query"}};
    CHECK(query.try_charge(10)); // refused by `two`, whose own cache gives way
    CHECK(query.charge_for(100, allot::forever).at == &two);
    CHECK(one.charge_for(50, 1_ms).at == &engine);
    allot::cancellation stop;
    std::thread cancels{[&] { stop.cancel(); }};
    CHECK(one.charge_for(50, {allot::forever, stop}).outcome == allot::charge_outcome::cancelled);
    cancels.join();
    CHECK(quick == "c");
    CHECK(said == "s");
    goes_on = true;
    sweeps.join();
    query.refund(10);
}

TEST_CASE("a reclaimer that two levels want is called by one; the other waits for that call", "[reclaim][threads]") {
    const support::rescue ends{"a call that nobody ends"};
    std::string said;
    account engine{name{"engine"}, limit{100}};
    account query{engine, name{"query"}, limit{80}};
    std::atomic<bool> called{false}, goes_on{false};
    holder cache{query, "c", 1, 80, said};
    cache.inside = [&](const allot::shortage&) {
        called = true;
        while (!goes_on) std::this_thread::yield();
    };
    std::thread sweeps{[&] { // `engine` refuses
        if (engine.try_charge(30)) engine.refund(30);
    }};
    while (!called) std::this_thread::yield();
    CHECK(query.charge_for(70, 1_ms).at == &query); // waits for the call as long as it may
    std::thread ends_call{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        goes_on = true;
    }};
    CHECK(query.try_charge(70)); // the call frees enough for both
    ends_call.join();
    sweeps.join();
    CHECK(said == "c");
    query.refund(70);
}

namespace {

// Begins to write when it is called, and frees what it was asked for later.
struct writer final : allot::reclaimer {
    writer(account& above, const char* text, std::uint32_t cost, std::size_t bytes)
        : reclaimer(text, cost), at{above, allot::name{text}} {
        REQUIRE(at.try_charge(bytes));
        at.add(*this);
    }
    ~writer() {
        at.remove(*this);
        at.refund(at.used());
    }
    bool reclaim(const allot::shortage& s) noexcept override {
        told = s.missing();
        const std::size_t left = at.used() - coming();
        comes(told < left ? told : left);
        return false;
    }
    void write() {
        const std::size_t bytes = coming();
        at.refund(bytes);
        arrived(bytes);
    }
    account at;
    std::size_t told = 0;
};
void until_it_comes(const allot::reclaimer& r) {
    while (r.coming() == 0) std::this_thread::yield();
}

} // namespace

TEST_CASE("a request waits for bytes that are coming, and asks others for the rest alone", "[reclaim][threads]") {
    const support::rescue ends{"bytes that do not come"};
    account root{name{"root"}, limit{100}};
    account query{root, name{"query"}};
    writer first{root, "first", 1, 30}, second{root, "second", 2, 70};
    std::thread writes{[&] {
        until_it_comes(second);
        while (root.stats().waiting == 0) std::this_thread::yield(); // one that asks meanwhile may ask again
        CHECK_ON_THREAD(second.told == 20);
        first.write();
        second.write();
    }};
    CHECK(query.charge_for(50, allot::forever));
    writes.join();
    CHECK((first.calls() == 1 && second.calls() == 1));
    CHECK(first.told == 50);
    CHECK((first.coming() == 0 && second.at.used() == 50));
    CHECK(first.freed() == 30);

    CHECK(!query.try_charge(10)); // does not wait, so what is coming does not help it
    CHECK((second.told == 10 && second.coming() > 10));
    second.failed(second.coming());
    query.refund(50);
}

TEST_CASE("one that waits for bytes that others got asks again once they have arrived", "[reclaim][threads]") {
    const support::rescue ends{"bytes that went to another request"};
    account root{name{"root"}, limit{100}};
    account query{root, name{"query"}};
    writer cache{root, "cache", 1, 100};
    std::thread first{[&] { CHECK_ON_THREAD(query.charge_for(50, allot::forever)); }};
    until_it_comes(cache);
    while (root.stats().waiting == 0) std::this_thread::yield();
    cache.at.refund(50); // before it says so, another request begins
    first.join();
    std::thread second{[&] { CHECK_ON_THREAD(query.charge_for(50, allot::forever)); }};
    while (root.stats().waiting == 0) std::this_thread::yield();
    cache.arrived(50);
    until_it_comes(cache);
    while (root.stats().waiting == 0) std::this_thread::yield();
    cache.write();
    second.join();
    CHECK(cache.calls() == 2);
    query.refund(100);
}

TEST_CASE("bytes that arrive during the call count once", "[reclaim]") {
    struct fast final : allot::reclaimer {
        explicit fast(account& above) : reclaimer("fast"), at{above, allot::name{"fast"}} {
            REQUIRE(at.try_charge(100));
            at.add(*this);
        }
        ~fast() { at.remove(*this); }
        bool reclaim(const allot::shortage&) noexcept override {
            comes(60);
            at.refund(100);
            arrived(60);
            return true;
        }
        account at;
    };
    account root{name{"root"}, limit{100}};
    fast file{root};
    CHECK(root.try_charge(50));
    CHECK((file.freed() == 100 && file.coming() == 0));
    root.refund(50);
}

TEST_CASE("where coming bytes fail, a request that waits asks others", "[reclaim][threads]") {
    const support::rescue ends{"a request that waits for bytes that have failed"};
    std::string said;
    account root{name{"root"}, limit{100}};
    account query{root, name{"query"}};
    writer file{root, "file", 1, 50};
    holder cache{root, "c", 2, 50, said};
    std::thread fails{[&] {
        until_it_comes(file);
        while (root.stats().waiting == 0) std::this_thread::yield();
        CHECK_ON_THREAD(said.empty());
        file.at.remove(file); // fails what is coming
    }};
    CHECK(query.charge_for(50, allot::forever));
    fails.join();
    CHECK(said == "c");
    CHECK(file.coming() == 0);
    query.refund(50);
}

TEST_CASE("an arbiter takes nothing from tasks that coming bytes would serve", "[reclaim][oom][threads]") {
    const support::rescue ends{"tasks that wait for bytes"};
    allot::oom::arbiter tasks{allot::oom::rules{.unknown_holders_wait = 0_ms}};
    account root{name{"root"}, limit{100}, tasks};
    writer file{root, "file", 1, 60};
    std::vector<std::thread> threads;
    std::atomic<int> have{0};
    for (int n = 0; n != 2; ++n)
        threads.emplace_back([&] {
            account mine{root, name{"mine"}};
            allot::oom::task query{tasks, "query", 0, &mine};
            allot::oom::task_thread here{query};
            allot::oom::with_retry_no_split([&] {
                mine.charge(20);
                ++have;
                while (have < 2) std::this_thread::yield();
                mine.charge(20);
                mine.refund(40);
            });
        });
    until_it_comes(file);
    while (root.stats().waiting == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(tasks.stats().rollbacks == 0);
    file.write();
    for (std::thread& t : threads) t.join();
    CHECK(tasks.stats().refused == 0);
}
