#include <support/asleep.hpp>
#include <support/catch.hpp>
#include <support/json.hpp>
#include <support/rescue.hpp>
#include <support/vanishing.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>
#include <allot/report/accounts.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <thread>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using vanishing = support::vanishing<account>;

namespace {

struct reported {
    std::string text;
    allot::leak_sink sink() {
        return {[](void* to, std::string_view t) noexcept { static_cast<reported*>(to)->text += t; }, this};
    }
    bool has(const char* part) const { return text.find(part) != std::string::npos; }
};

allot::item_stats some(const allot::account_item&) noexcept { return {4096, 8192, 2048}; }

} // namespace

TEST_CASE("close reports what was not refunded, and gives everything back", "[accounts][closing]") {
    account root{name{"root"}};
    reported leaks;
    account query{root, name{"query 7"}, leaks.sink()};
    const auto floor = query.reserve_floor_for(100, 0_ms);
    account scan{query, name{"scan"}};
    allot::account_item item{"pool", "orders", &some};
    query.add(item);
    query.count(allot::counted::buffers, 2);
    REQUIRE(query.try_charge(4096));
    REQUIRE(scan.try_charge(10));
    CHECK_FALSE(query.close());
    CHECK(query.close()); // again: nothing
    CHECK_FALSE(query.is_open());
    CHECK(leaks.has("account query 7 closed with 4 KiB not refunded, 2 buffers"));
    CHECK(leaks.has("open child: scan, 10 bytes used"));
    CHECK(leaks.has("open item: pool orders"));
    CHECK(root.used() == 10); // scan's, which is root's child now
    CHECK(scan.parent() == &root);
    CHECK(root.verify());
    CHECK_FALSE(scan.try_charge(5)); // closed with the query
    scan.refund(10);
    query.remove(item);
    CHECK(root.used() == 0);
}

TEST_CASE("an account with nothing left is silent", "[accounts][closing]") {
    reported leaks;
    account root{name{"root"}, leaks.sink()};
    {
        account leaf{root, name{"leaf"}, allot::credit_step{64}, leaks.sink()};
        CHECK(leaf.try_charge(10));
        leaf.refund(10);
        CHECK(root.used() == 64);
    }
    CHECK(root.used() == 0);
    CHECK(root.close());
    CHECK(leaks.text.empty());
}

TEST_CASE("leaks are reported with the sites of the log", "[accounts][closing]") {
    reported leaks;
    account root{name{"root"}, leaks.sink()};
    allot::account_log log{2};
    root.set_log(&log);
    for (int i = 0; i != 20; ++i) REQUIRE(root.try_charge(100 + static_cast<std::size_t>(i)));
    root.refund(100);
    CHECK(log.events() == 21);
    std::string numbers;
    log.visit([&](const allot::account_event& e) {
        numbers += std::to_string(e.number) + " ";
        CHECK(e.frames != 0);
    });
    CHECK(numbers == "0 10 12 14 16 18 20 ");
    root.close();
    CHECK(leaks.has("first and last of 21 events"));
    CHECK(leaks.has("#0 charge of 100 bytes, 100 bytes used"));
    CHECK(leaks.has("#20 refund of 100 bytes"));
    CHECK(leaks.has("0x"));
}

TEST_CASE("closing may wait for a consumer that still refunds", "[accounts][closing]") {
    reported leaks;
    account root{name{"root"}};
    account leaf{root, name{"leaf"}, allot::credit_step{64}, leaks.sink()};
    REQUIRE(leaf.try_charge(100));
    std::atomic<bool> closing{false};
    std::thread consumer{[&] {
        while (!closing) std::this_thread::yield();
        for (int i = 0; i != 100; ++i) {
            if (leaf.try_charge(1)) leaf.refund(1);
            leaf.refund(1);
        }
    }};
    closing = true;
    CHECK(leaf.close(10_s));
    consumer.join();
    CHECK(root.used() == 0);

    account late{root, name{"late"}, leaks.sink()};
    REQUIRE(late.try_charge(3));
    CHECK(leaks.text.empty());
    CHECK_FALSE(late.close(20_ms));
    CHECK(leaks.has("late closed with 3 bytes not refunded"));
    CHECK(root.used() == 0);
}

namespace {

constexpr allot::time_span for_ever{UINT64_MAX};

// `ends` runs on another thread once this one sleeps in `waits`, and wakes it.
template <class Waits, class Ends> void check_sleeps(Waits waits, Ends ends) {
    const support::rescue red{"a close that spins, or that nothing wakes"};
    std::thread other{[&, thread = support::this_thread()] {
        support::until_asleep(thread);
        ends();
    }};
    waits();
    other.join();
}

} // namespace

TEST_CASE("a close that waits sleeps until the last refund, count, item or child has left", "[accounts][closing]") {
    account root{name{"root"}};
    {
        account leaf{root, name{"leaf"}};
        REQUIRE(leaf.try_charge(100));
        leaf.refund(40);
        check_sleeps([&] { CHECK(leaf.close(for_ever)); }, [&] { leaf.refund(60); });
    }
    {
        account leaf{root, name{"leaf"}};
        leaf.count(allot::counted::buffers, 1);
        check_sleeps([&] { CHECK(leaf.close(for_ever)); }, [&] { leaf.count(allot::counted::buffers, -1); });
    }
    {
        account leaf{root, name{"leaf"}};
        allot::account_item item{"pool", "orders", &some};
        leaf.add(item);
        check_sleeps([&] { CHECK(leaf.close(for_ever)); }, [&] { leaf.remove(item); });
    }
    {
        account query{root, name{"query"}};
        account scan{query, name{"scan"}};
        check_sleeps([&] { CHECK(query.close(for_ever)); }, [&] { scan.close(); });
    }
    {
        account from{root, name{"from"}}, to{root, name{"to"}};
        REQUIRE(from.try_charge(10));
        check_sleeps([&] { CHECK(from.close(for_ever)); }, [&] { account::transfer(from, to, 10); });
        to.refund(10);
    }
    CHECK(root.used() == 0);
}

TEST_CASE("a close that waits ends at another close of the account, and several wait at once", "[accounts][closing]") {
    account root{name{"root"}};
    {
        reported leaks;
        account leaf{root, name{"leaf"}, leaks.sink()};
        REQUIRE(leaf.try_charge(100));
        check_sleeps([&] { CHECK(leaf.close(for_ever)); }, [&] { leaf.close(); }); // the other one reports
        CHECK(leaks.has("100 bytes not refunded"));
    }
    account leaf{root, name{"leaf"}};
    REQUIRE(leaf.try_charge(100));
    std::atomic<int> closed{0};
    std::thread second{[&] { closed += leaf.close(for_ever); }};
    check_sleeps([&] { closed += leaf.close(for_ever); }, [&] { leaf.refund(100); });
    second.join();
    CHECK(closed == 2);
    CHECK(root.used() == 0);
}

TEST_CASE("a close sleeps while a listener is called about its account", "[accounts][closing]") {
    struct slow final : allot::account_listener {
        std::atomic<bool> called{false}, may_return{false};
        void released(const account&, std::size_t) noexcept override {
            called = true;
            while (!may_return) std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    } listener;
    account root{name{"root"}};
    account leaf{root, name{"leaf"}};
    root.add(listener);
    REQUIRE(leaf.try_charge(10));
    std::thread refunds{[&] { leaf.refund(10); }};
    while (!listener.called) std::this_thread::yield();
    check_sleeps([&] { CHECK(leaf.close()); }, [&] { listener.may_return = true; });
    refunds.join();
    root.remove(listener);
    CHECK(root.used() == 0);
}

TEST_CASE("closing may be left to the last refund", "[accounts][closing]") {
    struct owner {
        std::unique_ptr<account> leaf;
        int ended = 0;
        static void end(account& a, void* self) noexcept {
            auto& o = *static_cast<owner*>(self);
            o.ended += &a == o.leaf.get();
            o.leaf.reset();
        }
    };
    account root{name{"root"}};
    for (int round = 0; round != 200; ++round) {
        owner o;
        o.leaf = std::make_unique<account>(root, name{"leaf"}, allot::credit_step{64});
        account& leaf = *o.leaf;
        REQUIRE(leaf.try_charge(20));
        std::atomic<int> left{2};
        std::thread consumers[2];
        for (auto& c : consumers)
            c = std::thread{[&] {
                for (int i = 0; i != 10; ++i) leaf.refund(1);
                --left;
            }};
        if (leaf.close_when_drained(&owner::end, &o)) o.leaf.reset(), o.ended = 1;
        for (auto& c : consumers) c.join();
        REQUIRE(o.ended == 1);
        REQUIRE(o.leaf == nullptr);
        REQUIRE(root.used() == 0);
    }
    CHECK(root.verify());
}

TEST_CASE("the last child ends a parent that waits for it", "[accounts][closing]") {
    account root{name{"root"}};
    int ended = 0;
    account query{root, name{"query"}};
    {
        account scan{query, name{"scan"}};
        CHECK_FALSE(query.close_when_drained([](account&, void* n) noexcept { ++*static_cast<int*>(n); }, &ended));
        CHECK_FALSE(query.try_charge(1));
        CHECK(ended == 0);
    }
    CHECK(ended == 1);
    CHECK_FALSE(query.is_open());
}

TEST_CASE("who waits for a child's end hears of it behind the child's own", "[accounts][closing]") {
    struct engine_query {
        account all, scan;
        std::string ended;
        explicit engine_query(account& root) : all(root, name{"query"}), scan(all, name{"scan"}) {}
        static void scan_ended(account& a, void* self) noexcept { static_cast<engine_query*>(self)->ended += a.name(); }
    };
    struct place : support::vanishing<engine_query> {
        std::string ended;
        static void all_ended(account&, void* self) noexcept {
            auto& here = *static_cast<place*>(self);
            auto& q = *static_cast<engine_query*>(here.address());
            here.ended = q.ended;
            end(q, static_cast<support::vanishing<engine_query>*>(&here)); // both go
        }
    } here;
    account root{name{"root"}};
    auto& q = *::new (here.address()) engine_query(root);
    REQUIRE(q.scan.try_charge(10));
    CHECK_FALSE(q.all.close_when_drained(&place::all_ended, &here));
    CHECK_FALSE(q.scan.close_when_drained(&engine_query::scan_ended, &q));
    CHECK_FALSE(here.is_gone());
    q.scan.refund(10);
    CHECK(here.is_gone());
    CHECK(here.ended == "scan");
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("who refunds to an account that was closed with it changes nothing", "[accounts][closing]") {
    reported leaks;
    account root{name{"root"}, limit{1000}};
    account leaf{root, name{"leaf"}, leaks.sink()},
        stepped{root, name{"stepped"}, allot::credit_step{64}, leaks.sink()};
    for (account* const a : {&leaf, &stepped}) {
        REQUIRE(a->try_charge(100));
        CHECK_FALSE(a->close());
        a->refund(100);
        CHECK(a->used() == 0);
        CHECK(root.used() == 0);
        CHECK(root.verify());
    }
}

TEST_CASE("a closed account's reservation does not come back", "[accounts][closing]") {
    account root{name{"root"}, limit{1000}};
    account query{root, name{"query"}};
    auto floor = query.reserve_floor_for(100, 0_ms);
    allot::account_reservation more = query.reserve_for(10, 0_ms);
    query.close();
    CHECK(root.used() == 0);
    more.release(), floor.release();
    CHECK_FALSE(query.reserve_for(10, 0_ms));
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("closing waits for a std::chrono duration", "[accounts][closing]") {
    account root{name{"root"}};
    reported leaks;
    account leaf{root, name{"leaf"}, leaks.sink()};
    REQUIRE(leaf.try_charge(10));
    const auto start = std::chrono::steady_clock::now();
    CHECK_FALSE(leaf.close(std::chrono::milliseconds(20)));
    CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(20));
    CHECK(leaks.text.find("10 bytes not refunded") != std::string::npos);
}

TEST_CASE("closing may wait for ever", "[accounts][closing]") {
    account root{name{"root"}};
    for (const std::uint64_t ms : {UINT64_MAX, UINT64_MAX / 1'000'000, UINT64_MAX / 1'000'000 - 1}) {
        reported leaks;
        account leaf{root, name{"leaf"}, leaks.sink()};
        REQUIRE(leaf.try_charge(10));
        std::thread consumer{[&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            leaf.refund(10);
        }};
        CHECK(leaf.close(allot::time_span{ms}));
        consumer.join();
        CHECK(leaks.text.empty());
    }
}

TEST_CASE("what is counted keeps a closing account, though nothing is charged", "[accounts][closing]") {
    struct owner {
        std::unique_ptr<account> leaf;
        int ended = 0;
        static void end(account& a, void* self) noexcept {
            auto& o = *static_cast<owner*>(self);
            o.ended += &a == o.leaf.get();
            o.leaf.reset();
        }
    };
    account root{name{"root"}};
    {
        constexpr auto what = allot::counted::buffers;
        owner o;
        o.leaf = std::make_unique<account>(root, name{"leaf"});
        account& leaf = *o.leaf;
        leaf.count(what, 1);
        leaf.count(what, 1);
        REQUIRE(!leaf.close_when_drained(&owner::end, &o));
        CHECK(leaf.stats().buffers == 2);
        leaf.count(what, 1); // one more while it closes
        leaf.count(what, -1);
        leaf.count(what, -1);
        CHECK(o.ended == 0);
        leaf.count(what, -1); // the last ends it
        CHECK(o.ended == 1);
        CHECK(o.leaf == nullptr);
    }
    owner o; // what is counted, and what is charged: the last of them
    o.leaf = std::make_unique<account>(root, name{"leaf"});
    o.leaf->count(allot::counted::buffers, 1);
    REQUIRE(o.leaf->try_charge(10));
    REQUIRE(!o.leaf->close_when_drained(&owner::end, &o));
    o.leaf->refund(10);
    CHECK(o.ended == 0);
    o.leaf->count(allot::counted::buffers, -1);
    CHECK(o.ended == 1);
    CHECK(root.used() == 0);
}

TEST_CASE("closing waits for what is counted, and reports what is left of it", "[accounts][closing]") {
    reported leaks;
    account root{name{"root"}};
    account leaf{root, name{"leaf"}, leaks.sink()};
    leaf.count(allot::counted::buffers, 2);
    std::thread holder{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        leaf.count(allot::counted::buffers, -1);
        leaf.count(allot::counted::buffers, -1);
    }};
    CHECK(leaf.close(10_s));
    CHECK(leaks.text.empty());
    holder.join();

    account late{root, name{"late"}, leaks.sink()};
    late.count(allot::counted::buffers, 1);
    CHECK_FALSE(late.close(20_ms));
    CHECK(leaks.has("late closed with 0 bytes not refunded, 1 buffers\n"));
}

TEST_CASE("an account that a transfer ends may be gone behind it, and is reported before", "[accounts][closing]") {
    struct ears : allot::account_listener {
        std::string heard;
        void transferred(const account& from, const account& to, std::size_t,
                         const allot::charge_status&) noexcept override {
            heard += from.name() + std::string(">") + to.name();
        }
    } listener;
    account root{name{"root"}};
    account to{root, name{"to"}};
    for (const bool heard : {false, true}) {
        allot::account_log log;
        vanishing place;
        account& from = *new (place.address()) account(root, name{"from"});
        if (heard) root.add(listener);
        from.set_log(&log);
        REQUIRE(from.try_charge(10));
        REQUIRE(!from.close_when_drained(&vanishing::end, &place));
        CHECK(account::transfer(from, to, 10));
        CHECK(place.is_gone());
        CHECK(log.events() == 2);
    }
    CHECK(listener.heard == "from>to");
    root.remove(listener);
    to.refund(20);
}

TEST_CASE("the tree as text and as JSON", "[accounts][reports]") {
    account root{name{"engine"}, limit{64_MiB}};
    account query{root, name{"query \"7\""}, limit{32_MiB}};
    const auto floor = query.reserve_floor_for(8_MiB, 0_ms);
    account scan{query, name{"scan"}, allot::credit_step{1_MiB}}, join{query, name{"join"}};
    account other{root, name{"other"}};
    allot::account_item item{"pool", "orders", &some};
    join.add(item);
    REQUIRE(scan.try_charge(3));
    REQUIRE(join.try_charge(2_MiB));
    char text[8192];
    allot::text_writer out{text};
    allot::write_accounts(out, root, allot::account_detail::items);
    const std::string page{out.view()};
    CHECK(page.find("\n  engine: 8 MiB used of 64 MiB, peak 8 MiB\n") != std::string::npos);
    CHECK(page.find("\n    query \"7\": 3 MiB used of 32 MiB, peak 3 MiB, reserved 8 MiB\n") != std::string::npos);
    CHECK(page.find("\n      scan: 3 bytes used, peak 3 bytes, credit 1048573 bytes\n") != std::string::npos);
    CHECK(page.find("\n      join: 2 MiB used, peak 2 MiB, committed 8 KiB, resident 2 KiB\n") != std::string::npos);
    CHECK(page.find("- pool orders: 4 KiB\n") != std::string::npos);
    out.clear();
    allot::write_accounts_json(out, root);
    CHECK_FALSE(out.is_truncated());
    const auto tree = support::json::parse(out.view());
    const auto& q = tree["children"].items.at(1);
    CHECK(tree["name"].text == "engine");
    CHECK(q["name"].text == "query \"7\"");
    CHECK(q["used"].number == 3 * 1024 * 1024);
    CHECK(q["children"].items.size() == 2);
    CHECK(q["children"].items.at(0)["committed"].number == 8192);
    CHECK(q["children"].items.at(1)["credit"].number == 1048573);
    out.clear();
    allot::write_accounts_json(out, query); // a part of it
    CHECK(support::json::parse(out.view())["children"].items.size() == 2);
    join.remove(item);
    scan.refund(3);
    join.refund(2_MiB);
}

TEST_CASE("the last child may end a root that waits for it, and is not behind it", "[accounts][closing]") {
    vanishing place;
    auto* const root = ::new (place.address()) account{name{"root"}};
    auto child = std::make_unique<account>(*root, name{"child"});
    CHECK_FALSE(root->close_when_drained(&vanishing::end, &place));
    CHECK_FALSE(root->close_when_drained(&vanishing::end, &place)); // it is closing already
    CHECK_FALSE(place.is_gone());
    child.reset();
    CHECK(place.is_gone());
}

TEST_CASE("a leaf with steps closes as others do", "[accounts][closing]") {
    account root{name{"root"}, limit{16_MiB}};
    account leaf{root, name{"leaf"}, allot::credit_step{1_MiB}};
    static int ended = 0;
    REQUIRE(leaf.try_charge(300'000));
    CHECK_FALSE(leaf.close_when_drained([](account&, void*) noexcept { ++ended; }));
    CHECK_FALSE(leaf.fits(1000));
    CHECK(leaf.try_charge(1000).outcome == allot::charge_outcome::closed);
    leaf.refund(100'000);
    CHECK(ended == 0);
    leaf.refund(200'000);
    CHECK(ended == 1);
    CHECK(root.used() == 0);
    CHECK(root.verify());
}
