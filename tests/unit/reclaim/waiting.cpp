// Requests that wait for memory: who is woken, in which order, and how often. No test but two reads a clock: a wait
// without an end, or one that ended before it began.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::charge_outcome;
using allot::charge_status;
using allot::limit;
using allot::name;

namespace {

// A thread that waits for bytes; `tries` are its requests after the first refusal, as a listener hears them.
struct waiting {
    waiting(account& by, std::size_t bytes, allot::wait_limit wait = allot::forever)
        : thread{[this, &by, bytes, wait] {
              status = by.charge_for(bytes, wait);
              done = true;
          }} {}
    ~waiting() {
        if (thread.joinable()) thread.join();
    }
    charge_status result() {
        thread.join();
        return status;
    }
    charge_status status;
    std::atomic<bool> done{false};
    std::thread thread;
};
// Until the account refused so often.
void until_refused(const account& by, std::uint64_t times) {
    while (by.stats().refused < times) std::this_thread::yield();
}

} // namespace

TEST_CASE("a request waits for a refund, wherever it comes from, and is woken once", "[reclaim][waiting]") {
    const support::rescue ends{"a request that waits for ever"};
    account root{name{"root"}, limit{100}};
    account query{root, name{"query"}}, other{root, name{"other"}, allot::credit_step{64}};
    REQUIRE(other.try_charge(60)); // 64 are granted
    waiting w{query, 80};
    until_refused(root, 2); // at once, and after it announced itself
    CHECK(!w.done);
    REQUIRE(other.try_charge(5)); // has no credit meanwhile
    CHECK(other.stats().credit == 0);
    other.refund(35); // not enough
    other.refund(10);
    CHECK(w.result().fitted());
    CHECK(query.used() == 80);
    CHECK(root.stats().refused == 2);
    CHECK(root.verify());
    query.refund(80);
    REQUIRE(other.try_charge(1)); // nobody waits: credit again
    CHECK(other.stats().credit == 43);
    other.refund(21);
}

TEST_CASE("a raised limit, a cancelled hold, a transfer and a reservation that ends wake a request",
          "[reclaim][waiting]") {
    const support::rescue ends{"a request that waits for ever"};
    account root{name{"root"}, limit{1000}};
    account query{root, name{"query"}, limit{100}}, beside{root, name{"beside"}};
    account one{query, name{"one"}}, two{query, name{"two"}};
    REQUIRE(one.try_charge(100));
    {
        waiting w{two, 50};
        until_refused(query, 2);
        query.set_limit(149);
        CHECK(!w.done);
        query.set_limit(150);
        CHECK(w.result().fitted());
    }
    {
        waiting w{two, 50};
        until_refused(query, 4);
        CHECK(account::transfer(one, beside, 50).fitted());
        CHECK(w.result().fitted());
    }
    two.refund(100);
    {
        auto sure = one.reserve_for(100, 0_ms);
        REQUIRE(sure);
        waiting w{two, 50};
        until_refused(query, 6);
        sure.release();
        CHECK(w.result().fitted());
    }
    two.refund(50);
    {
        REQUIRE(one.try_hold(90));
        one.confirm(90);
        waiting w{two, 50};
        until_refused(query, 8);
        one.refund(90);
        CHECK(w.result().fitted());
    }
    two.refund(50), one.refund(50), beside.refund(50);
    CHECK(root.used() == 0);
}

TEST_CASE("a closed account and a cancellation end a wait with their status, a deadline with the refusal",
          "[reclaim][waiting]") {
    const support::rescue ends{"a request that waits for ever"};
    account root{name{"root"}, limit{100}};
    account full{root, name{"full"}},
        query{root, name{"query"}, allot::leak_sink{[](void*, std::string_view) noexcept {}, nullptr}};
    REQUIRE(full.try_charge(100));
    CHECK(query.charge_for(10, 0_ms).outcome == charge_outcome::over_limit);
    const std::uint64_t before = root.stats().refused;
    CHECK(query.charge_for(101, allot::forever).outcome == charge_outcome::over_limit); // can never be
    CHECK(root.stats().refused == before + 1);                                          // so it is tried once
    CHECK(query.charge_for(10, std::chrono::milliseconds(2)).at == &root);
    std::uint64_t refused = root.stats().refused;
    {
        account leaf{query, name{"leaf"}};
        waiting w{leaf, 10};
        until_refused(root, refused += 2);
        CHECK_FALSE(query.close()); // its leaf is open
        CHECK(w.result().outcome == charge_outcome::closed);
    }
    account next{root, name{"next"}};
    {
        waiting w{next, 10};
        until_refused(root, refused += 2);
        while (root.stats().waiting == 0) std::this_thread::yield();
        account{root, name{"another"}}.close();
        full.set_limit(100), full.set_limit(SIZE_MAX);
        CHECK(root.stats().waiting == 1); // neither ends it, so it sleeps on
        CHECK(root.stats().refused == refused);
        full.refund(10);
        CHECK(w.result().fitted());
        next.refund(10);
        REQUIRE(full.try_charge(10));
    }
    {
        allot::cancellation stop;
        waiting one{next, 10, {10_s, stop}}, two{full, 10, {allot::forever, stop}};
        until_refused(root, refused += 4);
        stop.cancel();
        CHECK(one.result().outcome == charge_outcome::cancelled);
        CHECK(two.result().outcome == charge_outcome::cancelled);
        CHECK(next.charge_for(10, {allot::forever, stop}).outcome == charge_outcome::cancelled); // for good
    }
    full.refund(100);
    CHECK(next.charge_for(10, allot::forever).fitted());
    next.refund(10);
}

TEST_CASE("the first that fits is woken; one that was passed by often enough is next", "[reclaim][waiting]") {
    const support::rescue ends{"a request that waits for ever"};
    account root{name{"root"}, limit{100}};
    account full{root, name{"full"}}, query{root, name{"query"}};
    REQUIRE(full.try_charge(100));
    waiting large{query, 60};
    until_refused(root, 2);
    std::uint64_t refused = 2;
    for (unsigned first = 0;; ++first) { // a small one comes behind, and 10 bytes become free
        waiting small{query, 10};
        if (first != 16) until_refused(root, refused += 2); // else it goes behind, and is not refused
        full.refund(10);
        if (first == 16) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            CHECK(!small.done);
            full.refund(60);
            break;
        }
        CHECK(small.result().fitted());
        query.refund(10);
        REQUIRE(full.try_charge(10));
        refused = root.stats().refused;
    }
    CHECK(large.result().fitted());
    query.refund(query.used()), full.refund(full.used());
    CHECK(root.verify());
}

TEST_CASE("a waiter of another limit is neither woken nor held up", "[reclaim][waiting]") {
    const support::rescue ends{"a request that waits for ever"};
    account root{name{"root"}, limit{1000}};
    account a{root, name{"a"}, limit{100}}, b{root, name{"b"}, limit{100}};
    REQUIRE(a.try_charge(100));
    REQUIRE(b.try_charge(100));
    waiting of_a{a, 100};
    until_refused(a, 2);
    for (int i = 0; i != 40; ++i) {
        waiting of_b{b, 10};
        until_refused(b, b.stats().refused == 0 ? 1 : b.stats().refused);
        b.refund(10);
        CHECK(of_b.result().fitted());
    }
    CHECK(!of_a.done);
    CHECK(a.stats().refused == 2);
    a.refund(100);
    CHECK(of_a.result().fitted());
    a.refund(100), b.refund(100);
}

TEST_CASE("a deadline ends a wait though unused memory is announced at each try", "[reclaim][waiting]") {
    const support::rescue ends{"a request whose time has come"};
    account root{name{"root"}, limit{100}};
    REQUIRE(root.try_charge(100));
    const allot::wait_limit most = 5_ms;
    allot::detail::memory_request asked{10};
    asked.why = root.try_charge(10);
    asked.wait = &most;
    CHECK_FALSE(allot::detail::request_again(root.node(), asked, [&] { return root.notify_unused(), false; }));
    root.refund(100);
}

TEST_CASE("inside a reclaimer nobody waits", "[reclaim][waiting]") {
    struct waits final : allot::reclaimer {
        account& by;
        charge_status got{};
        explicit waits(account& a) : reclaimer("waits"), by(a) {}
        bool reclaim(const allot::shortage&) noexcept override {
            return got = by.charge_for(10, allot::forever), false;
        }
    };
    account root{name{"root"}, limit{100}};
    REQUIRE(root.try_charge(100));
    waits r{root};
    root.add(r);
    const support::rescue ends{"a reclaimer that waits for its own thread"};
    CHECK_FALSE(root.try_charge(50));
    CHECK(r.got.outcome == charge_outcome::over_limit);
    root.remove(r);
    root.refund(100);
}

TEST_CASE("many threads that charge, wait and refund all finish", "[reclaim][waiting][threads]") {
    const support::rescue ends{"a wake-up that was lost"};
    account root{name{"root"}, limit{1000}};
    account exact{root, name{"exact"}}, steps{root, name{"steps"}, allot::credit_step{64}},
        third{root, name{"third"}, limit{500}, allot::credit_step{16}};
    account* const all[] = {&exact, &steps, &third};
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (unsigned t = 0; t != 8; ++t)
        threads.emplace_back([&, t] {
            unsigned random = t + 1;
            for (int i = 0; i != 2000; ++i) {
                random = random * 1664525 + 1013904223;
                account& by = *all[(random >> 8) % 3];
                const std::size_t bytes = 1 + (random >> 12) % 400;
                if (!by.charge_for(bytes, allot::forever)) ++wrong;
                else by.refund(bytes);
            }
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
    CHECK(root.peak() <= 1000);
    CHECK(root.verify());
    steps.refund(0), third.refund(0);
    CHECK(exact.used() + steps.used() + third.used() == 0);
}

TEST_CASE("a cancellation and a wake-up that meet end one wait, and the next is whole", "[reclaim][waiting][threads]") {
    const support::rescue ends{"a signal that was lost, or came to a later wait"};
    account root{name{"root"}, limit{100}};
    account full{root, name{"full"}}, query{root, name{"query"}};
    for (int i = 0; i != 300; ++i) {
        REQUIRE(full.try_charge(100));
        allot::cancellation stop;
        const std::uint64_t refused = root.stats().refused;
        waiting w{query, 50, {allot::forever, stop}};
        until_refused(root, refused + 2);
        std::thread cancels{[&] { stop.cancel(); }};
        full.refund(60);
        cancels.join();
        const charge_status s = w.result();
        if (s) query.refund(50);
        else CHECK(s.outcome == charge_outcome::cancelled);
        full.refund(40);
        CHECK(query.charge_for(100, allot::forever).fitted());
        query.refund(100);
    }
    CHECK(root.used() == 0);
}

TEST_CASE("an account that is closed, and a request of it that goes to sleep meanwhile",
          "[reclaim][waiting][threads]") {
    const support::rescue ends{"a request of a closed account"};
    account root{name{"root"}, limit{100}};
    REQUIRE(root.try_charge(100));
    for (int i = 0; i != 500; ++i) {
        account query{root, name{"query"}};
        const std::uint64_t refused = root.stats().refused;
        waiting w{query, 10};
        until_refused(root, refused + 2);
        CHECK(query.close());
        CHECK(w.result().outcome == charge_outcome::closed);
    }
    root.refund(100);
}

TEST_CASE("a request that can never be granted does not wait, and holds up no other", "[reclaim][waiting]") {
    const support::rescue ends{"a request that can never be granted"};
    account root{name{"root"}, limit{1000}};
    account query{root, name{"query"}}, leaf{query, name{"leaf"}, limit{150}};
    for (const std::size_t bytes : {std::size_t{1001}, static_cast<std::size_t>(PTRDIFF_MAX), SIZE_MAX})
        CHECK(query.charge_for(bytes, allot::forever).outcome == charge_outcome::over_limit);
    REQUIRE(leaf.try_charge(150));
    CHECK(leaf.charge_for(151, allot::forever).outcome == charge_outcome::over_limit);
    const std::uint64_t refused = leaf.stats().refused;
    waiting fits{leaf, 120}; // once the others are refunded
    until_refused(leaf, refused + 2);
    leaf.refund(130);
    CHECK(fits.result().fitted());
    leaf.refund(140);
    REQUIRE(root.try_charge(1000));
    waiting lowered{query, 500};
    until_refused(root, root.stats().refused == 0 ? 1 : 2);
    query.set_limit(400); // below the request
    CHECK(lowered.result().at == &query);
    root.refund(1000);
}

TEST_CASE("one refund lets no more pass than many", "[reclaim][waiting]") {
    const support::rescue ends{"requests that wait for ever"};
    account root{name{"root"}, limit{1000}};
    REQUIRE(root.try_charge(1000));
    allot::cancellation stop;
    std::atomic<unsigned> passed{0};
    waiting oldest{root, 900, {allot::forever, stop}};
    until_refused(root, 2);
    std::vector<std::thread> later;
    for (unsigned i = 0; i != 30; ++i) {
        later.emplace_back([&] {
            if (root.charge_for(10, {allot::forever, stop})) ++passed;
        });
        until_refused(root, 2 * i + 4);
    }
    root.refund(500);
    while (passed < 16) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(passed == 16);
    stop.cancel();
    for (auto& t : later) t.join();
    CHECK_FALSE(oldest.result());
    root.refund(root.used());
}

TEST_CASE("a thread that helps a reclaimer is refused or served, and waits for no call that waits for it",
          "[reclaim]") {
    const support::rescue ends{"a helper of a reclaimer"};
    struct table final : allot::reclaimer {
        explicit table(account& a) : reclaimer("table", 2), of(a) { of.charge(held), of.add(*this); }
        ~table() { of.remove(*this); }
        bool reclaim(const allot::shortage& s) noexcept override {
            if (is_called.exchange(true)) return false; // a helper's request calls it, too
            comes(held);
            s.let_others_go_on();
            std::thread helper{[&] {
                tried = of.try_charge(2_MiB); // its buffer
                waited = of.charge_for(2_MiB, 1_ms);
                of.refund(held);
                arrived(held);
            }};
            helper.join();
            held = 0;
            return true;
        }
        account& of;
        std::size_t held = 14_MiB;
        std::atomic<bool> is_called{false};
        allot::charge_status tried, waited;
    };
    account engine{name{"engine"}, limit{16_MiB}};
    account build{engine, name{"build"}}, query{engine, name{"query"}};
    query.charge(2_MiB);
    table t{build};
    CHECK(query.try_charge(4_MiB));
    CHECK((!t.tried && t.tried.at == &engine && !t.waited));
    query.refund(6_MiB);
}

TEST_CASE("a request for no time asks the next reclaimer beside bytes that are coming", "[reclaim]") {
    struct giver final : allot::reclaimer {
        giver(account& a, std::uint32_t cost, bool now) : reclaimer("giver", cost), of(a), gives(now) {
            of.charge(held), of.add(*this);
        }
        ~giver() { of.remove(*this), of.refund(held); }
        bool reclaim(const allot::shortage&) noexcept override {
            if (!gives) {
                if (coming() == 0) comes(held);
                return false;
            }
            of.refund(std::exchange(held, 0));
            return true;
        }
        account& of;
        std::size_t held = 400;
        const bool gives;
    };
    account root{name{"root"}, limit{1000}}, query{root, name{"query"}};
    giver slow{root, 1, false}, quick{root, 2, true};
    REQUIRE(query.try_charge(200));
    CHECK(query.charge_for(300, 0_ms));
    query.refund(query.used());
    slow.failed(400);
}
