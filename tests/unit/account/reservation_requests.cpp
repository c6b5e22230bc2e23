// Reservations that wait without a thread: who calls them, in which order, and what ends their wait.
#include <support/asleep.hpp>
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/core/units.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/task.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/row_manager.hpp>
#include <allot/task/quota.hpp>
#include <allot/tree/account_peak.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using allot::account;
using allot::account_reservation;
using allot::charge_outcome;
using allot::charge_status;
using allot::limit;
using allot::name;
using namespace allot::literals;

namespace {

using callback = std::function<void(account_reservation)>;
using request = allot::reservation_request<callback>;

// Keeps what it is called with.
struct keeper {
    account_reservation got;
    charge_outcome outcome = charge_outcome::fits;
    std::thread::id thread;
    std::atomic<int> calls{0};
    request later{[this](account_reservation r) {
        thread = std::this_thread::get_id();
        outcome = r.status().outcome;
        got = std::move(r);
        ++calls;
    }};
};
bool queued(const account_reservation& r) { return !r && r.status().outcome == charge_outcome::queued; }
const allot::leak_sink unheard{[](void*, std::string_view) noexcept {}, nullptr};

// A call frees `has` bytes of what the test has charged to its account.
struct cache : allot::reclaimer {
    explicit cache(account& a, std::uint32_t cost = 1) : reclaimer("cache", cost), at(a) { at.add(*this); }
    ~cache() { at.remove(*this); }
    bool reclaim(const allot::shortage& s) noexcept override {
        requester = s.requester;
        requested = s.why.requested;
        thread = std::this_thread::get_id();
        if (inside) inside();
        const std::size_t now = std::exchange(has, 0);
        at.refund(now);
        return now != 0;
    }
    account& at;
    std::size_t has = 0;
    const account* requester = nullptr;
    std::size_t requested = 0;
    std::thread::id thread;
    std::function<void()> inside;
};

} // namespace

TEST_CASE("a reservation without a thread is granted at once, or by a refund on the refunding thread",
          "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{100}};
    account first{root, name{"first"}}, sort{root, name{"sort"}};
    keeper k;
    {
        const account_reservation now = sort.reserve_for(60, k.later);
        CHECK(now);
        CHECK(root.used() == 60);
        CHECK_FALSE(k.later.is_queued());
    }
    CHECK(k.calls == 0);
    REQUIRE(first.try_charge(90));
    const account_reservation later = sort.reserve_for(60, k.later);
    CHECK(queued(later));
    CHECK(later.status().at == &root);
    CHECK(later.status().used == 90);
    CHECK(k.later.is_queued());
    CHECK(root.stats().waiting == 1);
    CHECK(sort.reserve_for(1, k.later).status().outcome == charge_outcome::misused);
    std::thread refunds{[&] {
        first.refund(20);
        CHECK_ON_THREAD(k.calls == 0);
        first.refund(30);
        CHECK_ON_THREAD(k.calls == 1);
        CHECK_ON_THREAD(k.thread == std::this_thread::get_id());
    }};
    refunds.join();
    CHECK(k.got.bytes() == 60);
    CHECK(root.used() == 100);
    CHECK(sort.try_charge(60));
    sort.refund(60);
    k.got.release();
    CHECK(queued(sort.reserve_floor_for(70, k.later)));
    first.refund(40);
    CHECK(k.calls == 2);
    CHECK(sort.stats().reservation == 70);
    k.got.release();
    CHECK(root.used() == 0);
    CHECK(root.stats().waiting == 0);
    CHECK(root.verify());
}

TEST_CASE("reservations without a thread are called in the order of their begin", "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{100}};
    account first{root, name{"first"}}, sort{root, name{"sort"}};
    REQUIRE(first.try_charge(100));
    std::string order;
    std::vector<account_reservation> kept;
    const auto notes = [&](char c) {
        return [&, c](account_reservation r) {
            order += c;
            kept.push_back(std::move(r));
        };
    };
    request a{notes('a')}, b{notes('b')}, c{notes('c')};
    CHECK(queued(sort.reserve_for(30, a)));
    CHECK(queued(sort.reserve_for(20, b)));
    CHECK(queued(sort.reserve_for(30, c)));
    first.refund(20);
    CHECK(order == "b"); // it fits, and the first one is not due
    first.refund(80);
    CHECK(order == "bac");
    kept.clear();

    // Each frees the memory of the next one: they are called one after the other, none inside another.
    REQUIRE(first.try_charge(100));
    std::deque<request> many;
    int calls = 0, depth = 0, deepest = 0;
    for (int i = 0; i != 500; ++i) {
        many.emplace_back([&](account_reservation r) {
            deepest = ++depth > deepest ? depth : deepest;
            CHECK(r);
            r.release();
            ++calls;
            --depth;
        });
        CHECK(queued(sort.reserve_for(100, many.back())));
    }
    first.refund(100);
    CHECK(calls == 500);
    CHECK(deepest == 1);
    CHECK(root.used() == 0);
}

TEST_CASE("a raised limit, an end of a reservation, a transfer and a close grant queued reservations",
          "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{100}};
    keeper k;
    account sort{root, name{"sort"}, limit{50}};
    {
        account first{root, name{"first"}, unheard};
        REQUIRE(first.try_charge(80));
        CHECK(queued(sort.reserve_for(50, k.later)));
        root.set_limit(130);
        CHECK(k.calls == 1);
        CHECK(queued(sort.reserve_for(1, k.later))); // at its own limit
        k.got.release();
        CHECK(k.calls == 2);
        k.got.release();
        root.set_limit(100);
        auto beside = first.reserve_for(20, 0_ms);
        CHECK(queued(sort.reserve_for(20, k.later)));
        beside.release();
        CHECK(k.calls == 3);
        k.got.release();
        CHECK(queued(sort.reserve_for(50, k.later)));
    } // closes with 80 bytes
    CHECK(k.calls == 4);
    CHECK(k.got);
    k.got.release();
    account below{sort, name{"below"}}, other{root, name{"other"}};
    REQUIRE(below.try_charge(50));
    CHECK(queued(sort.reserve_for(50, k.later)));
    CHECK(account::transfer(below, other, 50).fitted());
    CHECK(k.calls == 5);
    CHECK(root.used() == 100);
    k.got.release();
    other.refund(50);
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("a queued reservation that can never be granted is refused", "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{100}}, outside{root, name{"outside"}};
    keeper k;
    account sort{root, name{"sort"}};
    CHECK(sort.reserve_for(101, k.later).status().outcome == charge_outcome::over_limit);
    CHECK(sort.reserve_for(SIZE_MAX, k.later).status().outcome == charge_outcome::over_limit);
    CHECK(sort.reserve_for(PTRDIFF_MAX, k.later).status().outcome == charge_outcome::over_limit);
    CHECK(sort.reserve_floor_for(SIZE_MAX, k.later).status().outcome == charge_outcome::over_limit);
    REQUIRE(outside.try_charge(100));
    CHECK(sort.reserve_for(0, k.later)); // nothing is always granted
    CHECK(sort.reserve_floor_for(0, k.later));
    CHECK(queued(sort.reserve_for(50, k.later)));
    root.set_limit(49);
    CHECK(k.calls == 1);
    CHECK(k.outcome == charge_outcome::over_limit);
    CHECK_FALSE(k.got);
    root.set_limit(100);
    outside.refund(100);
    account wide{name{"wide"}}, in_wide{wide, name{"in wide"}}, beside{wide, name{"beside"}};
    REQUIRE(beside.try_charge(1));
    CHECK(queued(in_wide.reserve_for(PTRDIFF_MAX, k.later)));
    beside.refund(1);
    CHECK(k.calls == 2);
    CHECK(k.got.bytes() == PTRDIFF_MAX);
    k.got.release();
    CHECK(wide.used() == 0);
}

TEST_CASE("an account that closes refuses its queued reservations before its end",
          "[accounts][reservations][waiting]") {
    const support::rescue ends{"a close with a queued reservation"};
    account root{name{"root"}, limit{100}}, outside{root, name{"outside"}};
    REQUIRE(outside.try_charge(100));
    keeper k, second;
    const auto queue_both = [&](account& at) {
        CHECK(queued(at.reserve_for(50, k.later)));
        CHECK(queued(at.reserve_for(50, second.later)));
    };
    const auto both_refused = [&](int times) {
        CHECK(k.calls == times);
        CHECK(second.calls == times);
        CHECK(k.outcome == charge_outcome::closed);
        CHECK_FALSE(second.later.is_queued());
        CHECK(root.stats().waiting == 0);
    };
    {
        account sort{root, name{"sort"}};
        queue_both(sort);
    }
    both_refused(1);
    {
        account sort{root, name{"sort"}};
        queue_both(sort);
        CHECK(sort.close(0_ms));
        both_refused(2);
        CHECK(sort.reserve_for(1, k.later).status().outcome == charge_outcome::closed);
    }
    {
        account sort{root, name{"sort"}};
        queue_both(sort);
        CHECK(sort.close_when_drained([](account&, void*) noexcept {}));
        both_refused(3);
    }
    {
        account query{root, name{"query"}, unheard};
        account sort{query, name{"sort"}};
        queue_both(sort);
        query.close(); // above it
        both_refused(4);
    }
    CHECK(queued(outside.reserve_for(50, k.later)));
    CHECK(k.later.cancel());
    outside.refund(100);
    CHECK(k.calls == 4);
    CHECK(root.verify());
}

TEST_CASE("a queued reservation that is cancelled or destroyed is never called", "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{100}}, first{root, name{"first"}}, sort{root, name{"sort"}};
    REQUIRE(first.try_charge(100));
    keeper k;
    CHECK_FALSE(k.later.cancel());
    CHECK(queued(sort.reserve_for(50, k.later)));
    CHECK(k.later.cancel());
    CHECK_FALSE(k.later.cancel());
    {
        keeper gone;
        CHECK(queued(sort.reserve_for(50, gone.later)));
    }
    CHECK(root.stats().waiting == 0);
    CHECK(queued(sort.reserve_for(50, k.later)));
    first.refund(100);
    CHECK(k.calls == 1);
    CHECK_FALSE(k.later.cancel());
    k.got.release();
    CHECK(root.used() == 0);
}

TEST_CASE("a callback may reserve again, end its own request and others, and close accounts",
          "[accounts][reservations][waiting]") {
    const support::rescue ends{"a callback that does what it may"};
    account root{name{"root"}, limit{100}}, first{root, name{"first"}}, sort{root, name{"sort"}};
    REQUIRE(first.try_charge(100));
    SECTION("reserve again") {
        std::vector<account_reservation> all;
        std::optional<request> again;
        again.emplace([&](account_reservation r) {
            all.push_back(std::move(r));
            while (all.size() != 10) {
                account_reservation more = sort.reserve_for(10, *again);
                if (!more) {
                    CHECK(queued(more));
                    return;
                }
                all.push_back(std::move(more));
            }
        });
        CHECK(queued(sort.reserve_for(10, *again)));
        first.refund(25); // two at once
        CHECK(all.size() == 2);
        first.refund(75);
        CHECK(all.size() == 10);
        CHECK(root.used() == 100);
    }
    SECTION("end requests") {
        auto other = std::make_unique<keeper>();
        std::unique_ptr<request> mine;
        int calls = 0;
        mine = std::make_unique<request>([&](account_reservation r) {
            ++calls;
            CHECK(r);
            CHECK_FALSE(mine->cancel());
            CHECK(other->later.cancel());
            other.reset();
            account_reservation waits = sort.reserve_for(100, *mine);
            CHECK(queued(waits));
            auto* const at = &mine;
            at->reset(); // what it has captured is gone
        });
        CHECK(queued(sort.reserve_for(50, *mine)));
        CHECK(queued(sort.reserve_for(60, other->later)));
        first.refund(100);
        CHECK(calls == 1);
        CHECK_FALSE(mine);
        CHECK(root.stats().waiting == 0);
    }
    SECTION("close its account, which refuses others") {
        keeper others;
        account* const at = new account{root, name{"closes"}};
        request closes{[&](account_reservation r) {
            r.release();
            CHECK(others.calls == 0);
            at->close();
            CHECK(others.calls == 1);
            CHECK(others.outcome == charge_outcome::closed);
        }};
        CHECK(queued(at->reserve_for(50, closes)));
        CHECK(queued(at->reserve_for(100, others.later)));
        first.refund(100);
        CHECK(others.calls == 1);
        delete at;
    }
    SECTION("charge, and be heard") {
        struct heard : allot::account_listener {
            std::size_t bytes = 0;
            void after(const account&, std::size_t n, const allot::charge_status&) noexcept override { bytes += n; }
        } listener;
        sort.add(listener);
        request charges{[&](account_reservation r) {
            CHECK(r);
            CHECK(sort.try_charge(50));
            CHECK_FALSE(sort.charge_for(100, allot::forever)); // does not wait
            sort.refund(50);
        }};
        CHECK(queued(sort.reserve_for(50, charges)));
        first.refund(100);
        CHECK(listener.bytes == 50);
        sort.remove(listener);
    }
}

TEST_CASE("a request that is destroyed waits for its call on another thread", "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{100}}, first{root, name{"first"}}, sort{root, name{"sort"}};
    REQUIRE(first.try_charge(100));
    std::atomic<int> stage{0};
    std::optional<request> slow;
    slow.emplace([&](account_reservation) {
        stage = 1;
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        stage = 2;
    });
    CHECK(queued(sort.reserve_for(50, *slow)));
    std::thread refunds{[&] { first.refund(100); }};
    while (stage == 0) std::this_thread::yield();
    CHECK_FALSE(slow->cancel());
    slow.reset();
    CHECK(stage == 2);
    refunds.join();
}

TEST_CASE("refunds into credit and credit of others serve queued reservations", "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{1000}}, query{root, name{"query"}};
    account leaf{query, name{"leaf"}, allot::credit_step{100}}, sort{root, name{"sort"}};
    REQUIRE(leaf.try_charge(950));
    keeper k;
    CHECK(queued(sort.reserve_for(1000, k.later)));
    leaf.refund(500);
    REQUIRE(leaf.try_charge(10)); // takes no credit meanwhile
    CHECK(root.used() == 460);
    for (int i = 0; i != 46; ++i) leaf.refund(10);
    CHECK(k.calls == 1);
    k.got.release();
    REQUIRE(leaf.try_charge(10)); // has credit again
    CHECK(root.used() > 10);
    leaf.refund(10);
    CHECK(sort.reserve_for(1000, k.later));
    CHECK(k.calls == 1);
}

TEST_CASE("a refund that finds the lock taken grants a queued reservation", "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{100}}, first{root, name{"first"}}, sort{root, name{"sort"}};
    REQUIRE(first.try_charge(100));
    keeper k;
    CHECK(queued(sort.reserve_for(100, k.later)));
    auto& lock = root.node().tree().lock;
    lock.lock();
    std::atomic<bool> refunding{false};
    std::thread refunds{[&] {
        refunding = true;
        first.refund(100);
    }};
    while (!refunding) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    lock.unlock();
    refunds.join();
    CHECK(k.calls == 1);
    k.got.release();
}

TEST_CASE("the copy of a peak is that of a granted reservation", "[accounts][reservations][waiting]") {
    allot::account_line lines[8];
    allot::account_peak at{lines};
    account root{name{"root"}, limit{100}}, first{root, name{"first"}}, sort{root, name{"sort"}};
    root.keep_peak(&at);
    REQUIRE(first.try_charge(60));
    request brief{[](account_reservation r) { r.release(); }};
    CHECK(queued(sort.reserve_for(90, brief)));
    first.refund(60);
    CHECK(at.used() == 90);
    root.keep_peak(nullptr);
}

TEST_CASE("a queued reservation is no blocked thread of an arbiter", "[accounts][reservations][waiting][oom]") {
#if ALLOT_EXCEPTIONS
    const support::rescue ends{"a task beside a queued reservation"};
    allot::oom::arbiter tasks;
    account root{name{"root"}, limit{100}, tasks}, mine{root, name{"mine"}}, sort{root, name{"sort"}};
    keeper k;
    {
        allot::oom::task query{tasks, "query", 0, &mine};
        allot::oom::task_thread here{query};
        REQUIRE(mine.charge(60));
        CHECK(queued(sort.reserve_for(60, k.later)));
        CHECK_THROWS_AS(mine.charge(60), allot::memory_error); // decided as without it
        CHECK(k.later.is_queued());
        mine.refund(60);
    }
    CHECK(k.calls == 1);
    k.got.release();
    CHECK(root.used() == 0);
#endif
}

TEST_CASE("pages, blocks and buffers that return to an account grant queued reservations with no lock held",
          "[accounts][reservations][waiting]") {
    struct pages : allot::policies<allot::ledger::tree, allot::oom::null> {};
    account root{name{"root"}, limit{8_MiB}}, sort{root, name{"sort"}}, scan{root, name{"scan"}};
    allot::row_manager<pages> rows{root, allot::page_bytes{64_KiB}};
    allot::chunk_arena<pages> blocks{root, limit{8_MiB}, allot::page_bytes{64_KiB}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    int calls = 0;
    request later{[&](account_reservation r) {
        CHECK(r);
        r.release();
        ++calls;
        const allot::buffer b = memory.try_allocate(scan, 1000); // may request memory
        CHECK(b);
        if (void* const row = rows.try_allocate(100)) rows.release(row);
    }};
    const auto queue = [&] { CHECK(queued(sort.reserve_for(8_MiB, later))); };
    const auto granted = [&](int by_now) {
        CHECK(calls == by_now);
        later.cancel();
        rows.trim(), blocks.trim();
        CHECK(root.used() == 0);
    };
    {
        void* const row = rows.try_allocate(1_MiB);
        queue();
        rows.release(row);
        CHECK(calls == 0); // its pages stay charged
        rows.trim();
        granted(1);
    }
    {
        const allot::block b = blocks.try_allocate(1_MiB);
        queue();
        blocks.deallocate(b.address);
        blocks.trim();
        granted(2);
    }
    {
        allot::buffer b = memory.allocate(scan, 1_MiB);
        queue();
        b.release();
        granted(3);
    }
    {
        account outer{name{"outer"}, limit{2_MiB}}, other{outer, name{"other"}},
            inner{outer, name{"inner"}, limit{1_MiB}}, from{inner, name{"from"}}, waits{inner, name{"waits"}};
        allot::buffer b = memory.allocate(from, 512_KiB);
        CHECK(queued(waits.reserve_for(1_MiB, later)));
        auto [theirs, how] = std::move(b).transfer(other); // out of `inner`
        CHECK(how.fitted());
        CHECK(calls == 4);
    }
    {
        std::optional<allot::row_manager<pages>> ends{std::in_place, root, allot::page_bytes{64_KiB}};
        void* const row = ends->try_allocate(1_MiB);
        queue();
        ends->release(row);
        ends.reset();
        granted(5);
    }
}

TEST_CASE("a queued reservation moves to a higher level that refuses it", "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{100}}, query{root, name{"query"}, limit{80}}, outside{root, name{"outside"}};
    account first{query, name{"first"}}, sort{query, name{"sort"}};
    REQUIRE(first.try_charge(80));
    keeper k;
    CHECK(queued(sort.reserve_for(60, k.later)));
    REQUIRE(outside.try_charge(20));
    first.refund(30); // the query has room for 30
    REQUIRE(outside.try_charge(30));
    first.refund(50); // for 80; the root for 50
    CHECK(k.calls == 0);
    outside.refund(10);
    CHECK(k.calls == 1);
    k.got.release();
    outside.refund(40);
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("one that is due holds back other reservations only, and waits behind what is not patient",
          "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{100}}, first{root, name{"first"}}, sort{root, name{"sort"}},
        more{root, name{"more"}};
    REQUIRE(first.try_charge(90));
    keeper k, behind;
    CHECK(queued(sort.reserve_for(50, k.later)));
    for (int i = 0; i != 16; ++i) CHECK(more.reserve_for(1, 0_ms));
    CHECK(more.reserve_for(1, 0_ms).status().outcome == charge_outcome::held_back);
    CHECK(queued(more.reserve_for(1, behind.later)));
    CHECK(more.try_charge(1));
    CHECK(more.charge_for(1, 1_ms));
    more.refund(2);
    CHECK(behind.calls == 0);
    CHECK(k.later.cancel());
    CHECK(behind.calls == 1); // nothing holds it back
    behind.got.release();
    first.refund(90);
    CHECK(root.used() == 0);

    // One that is not patient is served first.
    const support::rescue ends{"a charge beside a queued reservation"};
    REQUIRE(first.try_charge(100));
    CHECK(queued(sort.reserve_for(60, k.later)));
    std::thread waits{[&] { CHECK_ON_THREAD(more.charge_for(60, allot::forever)); }};
    while (root.stats().waiting != 2) std::this_thread::yield();
    first.refund(60);
    waits.join();
    CHECK(k.calls == 0);
    more.refund(60);
    CHECK(k.calls == 1);
    k.got.release();
    first.refund(40);
    CHECK(root.used() == 0);
}

TEST_CASE("a cancel races a grant: exactly one of them happens", "[accounts][reservations][waiting]") {
    const support::rescue ends{"cancel and grant"};
    account root{name{"root"}, limit{100}}, first{root, name{"first"}}, sort{root, name{"sort"}};
    int cancelled = 0;
    for (int i = 0; i != 300; ++i) {
        REQUIRE(first.try_charge(100));
        std::atomic<int> calls{0};
        std::atomic<bool> go{false};
        request later{[&](account_reservation r) { calls += bool(r); }};
        REQUIRE(queued(sort.reserve_for(50, later)));
        std::thread refunds{[&] {
            while (!go) {
            }
            first.refund(100);
        }};
        go = true;
        const bool never = later.cancel();
        refunds.join();
        CHECK(calls == (never ? 0 : 1));
        cancelled += never;
    }
    CHECK(cancelled <= 300);
    CHECK(root.used() == 0);
}

TEST_CASE("a queued reservation gets memory that did not fit beside the failed try of another one",
          "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{100}}, sort{root, name{"sort"}, limit{60}}, join{root, name{"join"}};
    REQUIRE(sort.try_charge(55));
    REQUIRE(join.try_charge(45));
    keeper large, small;
    REQUIRE(queued(sort.reserve_for(10, large.later)));
    REQUIRE(queued(join.reserve_for(3, small.later)));
    sort.refund(5); // room for `large` in its own account, but not in the root
    CHECK(large.calls == 0);
    CHECK(small.calls == 1);
    CHECK(small.got);
    join.refund(10);
    CHECK(large.calls == 1);
    CHECK(large.got);
    sort.refund(50), join.refund(35);
}

TEST_CASE("queued reservations of many threads are all granted, and none is lost",
          "[accounts][reservations][waiting]") {
    const support::rescue ends{"queued reservations of many threads"};
    account root{name{"root"}, limit{100}};
    std::atomic<int> granted{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t != 4; ++t)
        threads.emplace_back([&] {
            account mine{root, name{"mine"}, allot::credit_step{8}};
            std::atomic<bool> called{false};
            request later{[&](account_reservation r) {
                CHECK_ON_THREAD(r);
                r.release();
                called = true;
            }};
            for (int i = 0; i != 300; ++i) {
                const std::size_t bytes = mine.try_charge(30) ? 30 : 0;
                called = false;
                if (queued(mine.reserve_for(60, later))) {
                    if (bytes != 0) mine.refund(bytes);
                    while (!called) std::this_thread::yield();
                } else if (bytes != 0) {
                    mine.refund(bytes);
                }
                ++granted;
            }
        });
    for (auto& t : threads) t.join();
    CHECK(granted == 4 * 300);
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("a reservation that waits beside another one sleeps", "[accounts][reservations][waiting]") {
    account root{name{"root"}, limit{200}}, sort{root, name{"sort"}}, other{root, name{"other"}};
    const account_reservation before = sort.reserve_for(100, 0_ms);
    REQUIRE(other.try_charge(100));
    const support::rescue ends{"a reservation that spins, or that nothing wakes"};
    std::atomic<long> thread{0};
    std::thread waits{[&] {
        thread = support::this_thread();
        CHECK_ON_THREAD(sort.reserve_for(50, allot::forever));
    }};
    while (thread == 0) std::this_thread::yield();
    support::until_asleep(thread);
    other.refund(100);
    waits.join();
    CHECK_FALSE(sort.reserve_for(150, 1_ms)); // it ends
}

TEST_CASE(
    "a queued reservation asks idle memory and reclaimers at each piece of news, once, on the thread that brings it",
    "[accounts][reservations][waiting][reclaim]") {
    account root{name{"root"}, limit{100}}, sort{root, name{"sort"}};
    cache idle{root, allot::reclaimer::idle}, old{root, 2};
    REQUIRE(root.try_charge(100));
    keeper k;
    CHECK(queued(sort.reserve_for(60, k.later)));
    const std::size_t before = old.calls(), idle_before = idle.calls();
    CHECK(before != 0); // asked before it was queued
    root.refund(50);
    REQUIRE(root.try_charge(50)); // numbers of accounts are no news to these
    CHECK(old.calls() == before);
    CHECK(idle.calls() == idle_before);

    SECTION("in vain") {
        root.notify_unused();
        const std::size_t once = old.calls(), idle_once = idle.calls();
        CHECK(once == before + 2); // a pass, a critical one
        root.refund(50);
        REQUIRE(root.try_charge(50));
        CHECK(old.calls() == once);
        CHECK(idle.calls() == idle_once);
        root.refund(100);
        CHECK(k.calls == 1);
    }
    SECTION("reclaimers") {
        old.has = 60;
        std::thread brings{[&] {
            root.notify_unused();
            CHECK_ON_THREAD(k.calls == 1);
            CHECK_ON_THREAD(k.thread == std::this_thread::get_id());
            CHECK_ON_THREAD(old.thread == std::this_thread::get_id());
        }};
        brings.join();
        CHECK(old.requester == &root); // that refuses it
        root.refund(40);
    }
    SECTION("idle memory before reclaimers, whose bytes stay") {
        idle.has = 60, old.has = 40;
        sort.notify_unused();
        CHECK(k.calls == 1);
        CHECK(idle.has == 0);
        CHECK(old.has == 40);
        root.refund(40);
    }
    SECTION("one that is added") {
        {
            cache late{sort};
            late.at.notify_unused();
            CHECK(late.calls() != 0);
        }
        struct gives final : allot::reclaimer {
            explicit gives(account& a) : reclaimer("gives"), at(a) {}
            bool reclaim(const allot::shortage&) noexcept override { return at.refund(100), true; }
            account& at;
        } added{root};
        root.add(added);
        CHECK(k.calls == 1);
        root.remove(added);
    }
    SECTION("a promise of several accounts") {
        allot::quota both{root};
        account join{root, name{"join"}};
        int calls = 0;
        k.later.cancel();
        const auto s = both.request({{sort, 30}, {join, 40}}, [&](const charge_status& how) {
            CHECK(how);
            ++calls;
        });
        CHECK(s.outcome == charge_outcome::queued);
        old.has = 70;
        root.notify_unused();
        CHECK(calls == 1);
        CHECK(both.promised(join) == 40);
        root.refund(30);
        both.release();
    }
    k.got.release();
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("bytes that are coming serve a queued reservation; where they have arrived or failed it asks again",
          "[accounts][reservations][waiting][reclaim]") {
    struct writer final : allot::reclaimer {
        writer() : reclaimer("writer") {}
        bool reclaim(const allot::shortage&) noexcept override {
            if (coming() == 0 && parts != 0) --parts, comes(20);
            return false;
        }
        int parts = 5;
    } writes;
    account root{name{"root"}, limit{100}}, sort{root, name{"sort"}};
    REQUIRE(root.try_charge(100));
    keeper k;
    CHECK(queued(sort.reserve_for(60, k.later)));
    cache behind{root, 2};
    root.add(writes);
    CHECK(writes.parts == 4);
    CHECK(behind.calls() != 0); // 20 are not enough
    for (int i = 0; i != 2; ++i) {
        root.refund(20);
        CHECK(writes.parts == 4 - i); // numbers are no news
        writes.arrived(20);
        CHECK(writes.parts == 3 - i);
    }
    const std::size_t calls = behind.calls();
    root.notify_unused(); // it waits for what is coming
    CHECK(behind.calls() == calls);
    writes.failed(20);
    CHECK(writes.parts == 1);
    CHECK(k.calls == 0);
    root.refund(20);
    CHECK(k.calls == 1);
    writes.arrived(20);
    root.refund(40);
    root.remove(writes);
}

TEST_CASE(
    "what is freed for queued reservations goes to all of them, in their order, and none is called in another call",
    "[accounts][reservations][waiting][reclaim]") {
    account root{name{"root"}, limit{100}}, sort{root, name{"sort"}};
    cache old{root};
    REQUIRE(root.try_charge(100));
    std::string order;
    std::deque<request> many;
    bool is_called = false;
    old.inside = [&] { is_called = true; };
    for (int i = 0; i != 40; ++i) {
        many.emplace_back([&, i](account_reservation r) {
            order += static_cast<char>('0' + i);
            CHECK(is_called);
            r.release();
            REQUIRE(root.try_charge(100)); // for the next one it is asked anew
            old.has = 100;
            is_called = false;
        });
        CHECK(queued(sort.reserve_for(50, many.back())));
    }
    old.has = 100;
    root.notify_unused();
    std::string expected;
    for (int i = 0; i != 40; ++i) expected += static_cast<char>('0' + i);
    CHECK(order == expected);
    root.refund(100);
}

TEST_CASE("asking in vain for one reservation is in vain for its level, but for a higher cap",
          "[accounts][reservations][waiting][reclaim]") {
    account root{name{"root"}, limit{100}}, sort{root, name{"sort"}};
    cache cheap{root, 1}, dear{root, 5};
    REQUIRE(root.try_charge(100));
    std::deque<keeper> many(50);
    for (keeper& k : many) CHECK(queued(sort.reserve_for(50, k.later)));
    std::size_t before = cheap.calls();
    root.notify_unused();
    CHECK(cheap.calls() == before + 2);
    for (keeper& k : many) k.later.cancel();

    keeper capped, any;
    before = dear.calls();
    {
        const allot::cost_cap most{1};
        CHECK(queued(sort.reserve_for(50, capped.later)));
    }
    root.notify_unused();
    CHECK(dear.calls() == before);
    CHECK(queued(sort.reserve_for(50, any.later)));
    before = dear.calls();
    {
        const allot::cost_cap of_this_thread{1};
        root.notify_unused();
    }
    CHECK(dear.calls() == before); // not by a thread under a lower cap
    CHECK_FALSE(sort.try_charge(1));
    CHECK(dear.calls() == before + 4); // two calls for the charge
    root.refund(100);
    CHECK(capped.calls + any.calls == 2);
}

TEST_CASE("news inside the call of a reclaimer is asked for behind it; no callback is called there",
          "[accounts][reservations][waiting][reclaim]") {
    account root{name{"root"}, limit{100}}, sort{root, name{"sort"}}, join{root, name{"join"}};
    cache brings{root, 1}, old{root, 2};
    REQUIRE(root.try_charge(100));
    keeper k;
    CHECK(queued(sort.reserve_for(50, k.later)));
    brings.inside = [&] {
        if (brings.requester != &join) return;
        const std::size_t calls = old.calls();
        old.has = 60;
        root.notify_unused();
        CHECK(old.calls() == calls);
        CHECK(k.calls == 0);
    };
    old.inside = [&] { CHECK(k.calls == 0); };
    CHECK(join.try_charge(10)); // the cache frees 60 for it
    CHECK(k.calls == 1);
    CHECK(k.got);
    k.got.release();

    struct : allot::account_listener {
        void after(const account& a, std::size_t, const charge_status&) noexcept override { a.root().notify_unused(); }
    } heard;
    old.inside = nullptr;
    REQUIRE(root.try_charge(50));
    CHECK(queued(sort.reserve_for(50, k.later)));
    join.add(heard);
    join.refund(2);
    old.has = 50;
    const std::size_t calls = old.calls();
    CHECK(join.try_charge(1)); // is heard
    CHECK(old.calls() == calls);
    join.remove(heard);
    CHECK(join.try_charge(1)); // the next request asks
    CHECK(k.calls == 2);
    root.refund(40);
    join.refund(10);
}

TEST_CASE("news that comes while a reservation is refused, and before it is queued, is asked for behind that",
          "[accounts][reservations][waiting][reclaim]") {
    account root{name{"root"}, limit{100}}, sort{root, name{"sort"}};
    cache old{root, 1}, brings{root, 2};
    REQUIRE(root.try_charge(100));
    keeper k;
    brings.inside = [&] {
        if (brings.calls() != 2) return; // the last call of the critical pass
        old.has = 60;
        root.notify_unused();
    };
    CHECK(queued(sort.reserve_for(60, k.later)));
    CHECK(k.calls == 1);
    root.refund(40);
}

TEST_CASE("while another thread calls reclaimers, news for queued reservations is left to it",
          "[accounts][reservations][waiting][reclaim]") {
    const support::rescue ends{"news beside a call of a reclaimer"};
    for (const bool at_another_level : {false, true}) {
        account root{name{"root"}, limit{100}}, sort{root, name{"sort"}};
        account top{name{"top"}, limit{100}}, query{top, name{"query"}, limit{100}}, scan{query, name{"scan"}};
        account &home = at_another_level ? query : root, &other = at_another_level ? top : root;
        keeper k;
        REQUIRE(home.try_charge(100));
        cache old{home};
        CHECK(queued((at_another_level ? scan : sort).reserve_for(50, k.later)));
        std::atomic<int> stage{0};
        old.inside = [&] {
            if (old.requested == 50) old.has = 60;
            if (old.requested == 50 || stage != 0) return;
            stage = 1;
            while (stage == 1) std::this_thread::yield();
        };
        std::thread sweeps{[&] {
            CHECK_ON_THREAD(!other.try_charge(60));
            if (at_another_level) { // behind a request that is not below that level, it is left to the next one
                home.refund(1);
                CHECK_ON_THREAD(scan.try_charge(1));
            }
            CHECK_ON_THREAD(old.thread == std::this_thread::get_id());
            CHECK_ON_THREAD(old.requester == &home);
            CHECK_ON_THREAD(k.calls == 1);
        }};
        while (stage == 0) std::this_thread::yield();
        const std::size_t calls = old.calls();
        home.notify_unused(); // returns
        CHECK(old.calls() == calls);
        CHECK(k.calls == 0);
        stage = 2;
        sweeps.join();
        k.got.release();
        if (at_another_level) scan.refund(1);
        home.refund(at_another_level ? 39 : 40);
    }
}

TEST_CASE(
    "rows and blocks are released without a call for others: the next request of the tree asks, or the end of a handle",
    "[accounts][reservations][waiting][reclaim]") {
    struct pages : allot::policies<allot::ledger::tree, allot::oom::null> {};
    account root{name{"root"}, limit{8_MiB}}, sort{root, name{"sort"}}, scan{root, name{"scan"}};
    allot::row_manager<pages> rows{root, allot::page_bytes{64_KiB}};
    allot::chunk_arena<pages> blocks{root, limit{8_MiB}, allot::page_bytes{64_KiB}};
    keeper k;
    const auto queue = [&] { CHECK(queued(sort.reserve_for(6_MiB, k.later))); };
    SECTION("rows") {
        void* const row = rows.try_allocate(4_MiB);
        queue();
        rows.release(row);
        CHECK(k.calls == 0); // a release makes no system call
        CHECK(scan.try_charge(1));
        CHECK(k.calls == 1);
        scan.refund(1);
    }
    SECTION("blocks") {
        const allot::block b = blocks.try_allocate(4_MiB);
        queue();
        blocks.deallocate(b.address);
        CHECK(k.calls == 0);
        CHECK(scan.try_charge(1));
        CHECK(k.calls == 1);
        scan.refund(1);
    }
    SECTION("empty pages that are returned to the arena") {
        void* const row = rows.try_allocate(4_MiB);
        queue();
        rows.release(row);
        CHECK(rows.release_empty_pages() == 0);
        CHECK(k.calls == 1);
    }
    SECTION("the end of a handle") {
        std::vector<void*> all;
        {
            auto mine = rows.local();
            while (root.used() < 3_MiB) all.push_back(mine.allocate(60'000));
            queue();
            for (void* const row : all) mine.release(row);
        }
        CHECK(k.calls == 1);
    }
    k.got.release();
    CHECK(root.verify());
}

TEST_CASE("where another level refuses a queued reservation then, what may help there is asked",
          "[accounts][reservations][waiting][reclaim]") {
    account root{name{"root"}, limit{1000}}, query{root, name{"query"}, limit{300}}, sort{query, name{"sort"}};
    account other{root, name{"other"}};
    cache old{other};
    REQUIRE(query.try_charge(200));
    REQUIRE(other.try_charge(old.has = 800));
    keeper k;
    SECTION("by a higher limit") {
        CHECK(queued(sort.reserve_for(200, k.later))); // the query's limit
        CHECK(old.calls() == 0);
        query.set_limit(400); // the root's
        CHECK(old.has == 0);
    }
    SECTION("by a refund: the next request asks") {
        CHECK(queued(sort.reserve_for(200, k.later)));
        query.refund(100);
        CHECK(k.calls == 0);
        CHECK(other.try_charge(1));
    }
    CHECK(k.calls == 1);
    k.got.release();
    query.refund(query.used()), other.refund(other.used());
}

TEST_CASE("news of a reclaimer that reaches below is for those that wait there, with the next request",
          "[accounts][reservations][waiting][reclaim]") {
    account root{name{"root"}}, query{root, name{"query"}, limit{100}}, sort{query, name{"sort"}};
    struct reaches final : allot::reclaimer {
        explicit reaches(account& a) : reclaimer("reaches", 1, reach::below_too), at(a) {}
        bool reclaim(const allot::shortage&) noexcept override {
            const std::size_t now = std::exchange(has, 0);
            at.refund(now);
            return now != 0;
        }
        account& at;
        std::size_t has = 0;
    } store{query};
    root.add(store);
    REQUIRE(query.try_charge(90));
    keeper k;
    CHECK(queued(sort.reserve_for(60, k.later)));
    CHECK(sort.try_charge(1)); // without news it asks nobody
    store.has = 80;
    CHECK(sort.try_charge(1));
    CHECK(store.has == 80);
    root.notify_unused();
    CHECK(sort.try_charge(1));
    CHECK(k.calls == 1);
    k.got.release();
    root.remove(store);
    query.refund(query.used() - sort.used()), sort.refund(sort.used());
}

TEST_CASE("a callback that frees memory of another tree grants reservations there", "[accounts][reservations]") {
    account one{name{"one"}, limit{100}}, other{name{"other"}, limit{100}};
    REQUIRE(one.try_charge(100));
    REQUIRE(other.try_charge(100));
    keeper there, same;
    CHECK(queued(other.reserve_for(60, there.later)));
    CHECK(queued(one.reserve_for(60, same.later)));
    int inside = 0;
    request first{[&](account_reservation) {
        other.refund(80);
        inside = there.calls;
        one.refund(80);
        CHECK(same.calls == 0); // of its own tree: behind it
    }};
    CHECK(one.when_free(SIZE_MAX, first).outcome == charge_outcome::over_limit); // no limit could ever admit it
    CHECK(one.when_free(10, first).outcome == charge_outcome::queued);
    one.refund(20);
    CHECK(inside == 1);
    CHECK(same.calls == 1);
    there.got.release(), same.got.release();
    other.refund(20);
}

TEST_CASE("news that races a reservation that is just queued, and other news, is not lost",
          "[accounts][reservations][waiting][reclaim]") {
    const support::rescue ends{"news beside reservations that are queued"};
    account root{name{"root"}, limit{100}};
    struct shared final : allot::reclaimer {
        explicit shared(account& a) : reclaimer("shared"), at(a) { at.add(*this); }
        ~shared() { at.remove(*this); }
        bool reclaim(const allot::shortage&) noexcept override {
            const std::size_t now = open ? has.exchange(0) : 0;
            at.refund(now);
            return now != 0;
        }
        account& at;
        std::atomic<std::size_t> has{0};
        std::atomic<bool> open{false};
    } first{root}, second{root};
    for (int i = 0; i != 400; ++i) {
        REQUIRE(root.try_charge(100));
        first.has = second.has = 50;
        std::atomic<int> go{0}, calls{0};
        const auto start = [&] {
            ++go;
            while (go != 4) {
            }
        };
        std::vector<std::jthread> all;
        for (shared* const has : {&first, &second})
            all.emplace_back([&, has] {
                start();
                has->open = true;
                root.notify_unused();
            });
        for (int t = 0; t != 2; ++t)
            all.emplace_back([&] {
                account sort{root, name{"sort"}};
                std::atomic<bool> called{false};
                request later{[&](account_reservation r) {
                    CHECK_ON_THREAD(r);
                    ++calls;
                    r.release();
                    called = true;
                }};
                start();
                account_reservation now = sort.reserve_for(100, later);
                calls += bool(now);
                now.release();
                while (queued(now) && !called) std::this_thread::yield();
            });
        all.clear();
        CHECK(calls == 2);
        first.open = second.open = false;
        REQUIRE(root.used() == 0);
    }
}
