// Watermarks: reclaimers free memory before a request is refused.
#include <support/catch.hpp>
#include <support/device_sets.hpp>

#include <allot/account/account.hpp>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/core/text.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/report/accounts.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::charge_outcome;
using allot::limit;
using allot::name;
using allot::watermark;

namespace {

// Data that can leave memory: bytes of an account below `above`, freed as far as they are missing.
struct store final : allot::reclaimer {
    explicit store(account& above, std::size_t bytes = 0, std::uint32_t cost = 1)
        : reclaimer("store", cost), at{above, allot::name{"store"}} {
        keep(bytes);
        at.add(*this);
    }
    ~store() {
        at.remove(*this);
        at.refund(at.used());
    }
    void keep(std::size_t bytes) { REQUIRE(at.force_charge(bytes)); }
    bool helps(const allot::shortage& s) const noexcept override { return s.ahead; }
    bool reclaim(const allot::shortage& s) noexcept override {
        asked.push_back(s);
        if (inside) inside();
        const std::size_t bytes = s.missing() < at.used() ? s.missing() : at.used();
        at.refund(bytes);
        return bytes != 0;
    }
    // What was missing at the calls since the last look.
    std::vector<std::size_t> taken() {
        std::vector<std::size_t> all;
        for (const allot::shortage& s : std::exchange(asked, {})) all.push_back(s.missing());
        return all;
    }
    account at;
    std::vector<allot::shortage> asked;
    std::function<void()> inside;
};
using sizes = std::vector<std::size_t>;
const sizes nobody;

} // namespace

TEST_CASE("past its watermark an account asks for the excess, below it nobody", "[accounts][watermark]") {
    account root{name{"root"}, limit{1000}};
    account query{root, name{"query"}, watermark{100}}, leaf{query, name{"leaf"}};
    store s{query, 60};
    REQUIRE(leaf.try_charge(40)); // at it
    CHECK(s.taken() == nobody);
    CHECK(leaf.try_charge(20).fitted());
    REQUIRE(s.asked.size() == 1);
    const allot::shortage& found = s.asked[0];
    CHECK((found.ahead && !found.critical && !found.waits));
    CHECK((found.why.outcome == charge_outcome::over_limit && found.why.at == &query && found.why.requested == 0));
    CHECK((found.why.used == 120 && found.why.limit == 100 && found.missing() == 20));
    CHECK(found.requester == &leaf);
    CHECK(s.freed() == 20);
    CHECK(query.used() == 100);
    s.asked.clear();
    for (int i = 0; i != 3; ++i) {
        REQUIRE(leaf.try_charge(1));
        CHECK(s.taken() == sizes{1});
    }
    CHECK(root.stats().watermark == SIZE_MAX);
    CHECK(query.stats().watermark == 100);
    query.set_watermark(SIZE_MAX);
    REQUIRE(leaf.try_charge(100));
    CHECK(s.taken() == nobody);
    query.set_watermark(150);
    CHECK(s.taken() == nobody); // it asks at charges
    REQUIRE(leaf.try_charge(1));
    CHECK(s.taken() == sizes{51});
    CHECK(s.at.used() == 0); // it had 37
    leaf.refund(164);
    CHECK(root.verify());
}

TEST_CASE("an ordinary reclaimer is called for refusals alone", "[accounts][watermark]") {
    struct cache final : allot::reclaimer {
        explicit cache(account& of) : reclaimer("cache", 1), at{of} { at.add(*this); }
        ~cache() { at.remove(*this); }
        bool reclaim(const allot::shortage& s) noexcept override { return ++calls, at.refund(s.missing()), true; }
        account& at;
        int calls = 0;
    };
    account query{name{"query"}, limit{100}, watermark{50}}, leaf{query, name{"leaf"}};
    REQUIRE(query.try_charge(40));
    cache c{query};
    store s{query};
    REQUIRE(leaf.try_charge(60));
    CHECK(c.calls == 0);
    CHECK(s.taken() == sizes{50});
    REQUIRE(leaf.try_charge(10));
    CHECK(c.calls == 1);
    query.refund(30), leaf.refund(70);
}

TEST_CASE("who had nothing is asked again at a sixteenth more, or once the use was at the watermark",
          "[accounts][watermark]") {
    account query{name{"query"}, watermark{1000}}, leaf{query, name{"leaf"}};
    store s{query};
    REQUIRE(leaf.try_charge(1600));
    CHECK(s.taken() == sizes{600});
    REQUIRE(leaf.try_charge(99));
    CHECK(s.taken() == nobody);
    REQUIRE(leaf.try_charge(1));
    CHECK(s.taken() == sizes{700});
    leaf.refund(699);
    REQUIRE(leaf.try_charge(699)); // it stayed above
    CHECK(s.taken() == nobody);
    leaf.refund(700);
    REQUIRE(leaf.try_charge(700)); // it was there
    CHECK(s.taken() == sizes{700});
    leaf.refund(1700);
    REQUIRE(leaf.try_charge(1700));
    CHECK(s.taken() == sizes{700});
    leaf.refund(1700);
}

TEST_CASE("each level has its own watermark, the lower one asks first", "[accounts][watermark]") {
    account root{name{"root"}, watermark{100}}, query{root, name{"query"}, watermark{60}}, leaf{query, name{"leaf"}};
    account other{root, name{"other"}};
    store below{query, 40}, beside{other, 40};
    REQUIRE(leaf.try_charge(10));
    CHECK((below.taken() == nobody && beside.taken() == nobody));
    REQUIRE(leaf.try_charge(20)); // query uses 70, root 110
    CHECK(below.taken() == sizes{10});
    CHECK(beside.taken() == nobody); // root uses 100
    REQUIRE(other.try_charge(30));
    CHECK(below.taken() == sizes{30}); // the same cost: the first one that was added
    CHECK(beside.taken() == nobody);
    REQUIRE(other.try_charge(20));
    CHECK(below.taken() == sizes{20}); // it has none
    CHECK(beside.taken() == sizes{20});
    leaf.refund(30), other.refund(50);
    CHECK(root.verify());
}

TEST_CASE("every kind of charge asks that climbs past a watermark", "[accounts][watermark]") {
    account root{name{"root"}, limit{1000}}, query{root, name{"query"}, watermark{100}}, leaf{query, name{"leaf"}};
    account outside{root, name{"outside"}};
    store s{query};
    const auto asks = [&]([[maybe_unused]] const char* kind, auto charge) { // a charge of 10 bytes
        INFO(kind);
        s.keep(100); // it does not look
        static_cast<void>(s.taken());
        const bool granted = charge();
        CHECK(granted);
        CHECK(s.taken() == sizes{10});
        s.at.refund(s.at.used());
    };
    const auto refunds = [&](bool granted) { return leaf.refund(10), granted; };
    asks("try_charge", [&] { return refunds(leaf.try_charge(10).fitted()); });
    asks("charge", [&] { return refunds(leaf.charge(10).fitted()); });
    asks("charge_for", [&] { return refunds(leaf.charge_for(10, 1_s).fitted()); });
    asks("force_charge", [&] { return refunds(leaf.force_charge(10).fitted()); });
    REQUIRE(outside.try_charge(10));
    asks("transfer", [&] { return account::transfer(outside, leaf, 10).fitted(); });
    REQUIRE(account::transfer(leaf, outside, 10).charged());
    asks("try_transfer", [&] { return refunds(account::try_transfer(outside, leaf, 10).fitted()); });
    asks("reserve_for", [&] { return static_cast<bool>(leaf.reserve_for(10, 0_ms)); });
    asks("reserve_floor_for", [&] { return static_cast<bool>(leaf.reserve_floor_for(10, 0_ms)); });
    asks("a hold leaves it to the next one", [&] {
        REQUIRE(leaf.try_hold(9));
        leaf.confirm(9);
        CHECK(s.taken() == nobody);
        return refunds(leaf.try_charge(1).fitted());
    });
    struct late final : allot::reclaimer {
        explicit late(account& of) : reclaimer("late", 1), from{of} { from.add(*this); }
        ~late() { from.remove(*this); }
        bool reclaim(const allot::shortage&) noexcept override { return from.refund(10), true; }
        account& from;
    } last{outside};
    asks("at the end of a ladder", [&] {
        REQUIRE(outside.force_charge(900));
        const bool granted = refunds(leaf.try_charge(10).fitted());
        return outside.refund(890), granted;
    });
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("what the credit covers asks nobody", "[accounts][watermark]") {
    account query{name{"query"}, watermark{100}}, leaf{query, name{"leaf"}, watermark{70}, allot::credit_step{64}};
    store s{query};
    REQUIRE(leaf.try_charge(10)); // 64 are used at `query`
    REQUIRE(leaf.try_charge(54));
    CHECK(s.taken() == nobody);
    REQUIRE(leaf.try_charge(1)); // 128
    CHECK(s.taken() == sizes{28});
    REQUIRE(leaf.try_charge(10)); // 75 of the leaf itself
    CHECK(s.taken() == nobody);
    leaf.refund(75);
}

TEST_CASE("a thread that is inside a call leaves it to its next charge", "[accounts][watermark]") {
    account root{name{"root"}, watermark{100}}, leaf{root, name{"leaf"}}, other{root, name{"other"}};
    store s{root, 100};
    struct hears final : allot::account_listener {
        explicit hears(account& of) : charges{of} {}
        void after(const account&, std::size_t, const allot::charge_status&) noexcept override {
            CHECK(charges.try_charge(10));
        }
        account& charges;
    } listener{other};
    leaf.add(listener);
    s.inside = [&] { CHECK(other.try_charge(1)); };
    REQUIRE(leaf.try_charge(5));
    leaf.remove(listener);
    CHECK(s.taken() == sizes{5});
    CHECK(root.used() == 111); // what the call charged, and the listener
    s.inside = nullptr;
    REQUIRE(leaf.try_charge(1));
    CHECK(s.taken() == sizes{12});
    leaf.refund(6), other.refund(11);
}

TEST_CASE("a watermark refuses nothing, and one at or above the limit never helps", "[accounts][watermark]") {
    account query{name{"query"}, limit{100}, watermark{0}}, leaf{query, name{"leaf"}};
    store s{query};
    for (int i = 0; i != 100; ++i) CHECK(leaf.try_charge(1).fitted());
    CHECK_FALSE(leaf.try_charge(1));
    CHECK(query.stats().refused == 1);
    CHECK(query.stats().beyond == 0);
    leaf.refund(100);
    for (const std::size_t most : {std::size_t{100}, std::size_t{101}, SIZE_MAX}) {
        query.set_watermark(most);
        static_cast<void>(s.taken());
        REQUIRE(leaf.try_charge(100));
        CHECK_FALSE(leaf.try_charge(1));
        CHECK(s.taken() == nobody);
        leaf.refund(100);
    }
}

TEST_CASE("bytes that are coming are not asked for again, and a cost cap holds", "[accounts][watermark]") {
    struct writer final : allot::reclaimer {
        explicit writer(account& of) : reclaimer("writer", 3), at{of} { at.add(*this); }
        ~writer() { at.remove(*this); }
        bool helps(const allot::shortage&) const noexcept override { return true; }
        bool reclaim(const allot::shortage& s) noexcept override { return ++calls, comes(s.missing()), false; }
        account& at;
        int calls = 0;
    };
    account query{name{"query"}, watermark{100}}, leaf{query, name{"leaf"}};
    REQUIRE(query.try_charge(100));
    writer w{query};
    {
        const allot::cost_cap cheap{2};
        REQUIRE(leaf.try_charge(10));
        CHECK(w.calls == 0);
        leaf.refund(10);
    }
    REQUIRE(leaf.try_charge(10));
    CHECK((w.calls == 1 && w.coming() == 10));
    REQUIRE(leaf.try_charge(1));
    CHECK((w.calls == 2 && w.coming() == 11));
    query.refund(11), w.arrived(11);
    CHECK(w.freed() == 11);
    REQUIRE(leaf.try_charge(5));
    CHECK((w.calls == 3 && w.coming() == 5));
    w.failed(5);
    query.refund(89), leaf.refund(16);
}

namespace {

struct of_tree : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct of_pool : allot::policies<allot::ledger::pool, allot::fit::runs, allot::oom::null> {};
struct of_device : allot::policies<on_simulated, allot::ledger::tree, allot::oom::null> {};
constexpr allot::page_bytes small{64_KiB};

} // namespace

TEST_CASE("pages of rows, blocks and buffers, and memory of a device, climb past a watermark",
          "[accounts][watermark]") {
    account root{name{"root"}, limit{512_MiB}}, query{root, name{"query"}, watermark{8_MiB}};
    account far{root, name{"far"}};
    store s{query};
    // Whether the request for memory asks before it returns.
    const auto asks = [&](auto take) {
        s.keep(8_MiB - query.used());
        static_cast<void>(s.taken());
        auto got = take();
        CHECK(static_cast<bool>(got));
        CHECK_FALSE(s.asked.empty());
        CHECK(query.used() == 8_MiB);
        s.at.refund(s.at.used());
        return got;
    };
    SECTION("rows") {
        allot::row_manager<of_tree> rows{query, name{"rows"}, small, limit{64_MiB}};
        for (const std::size_t each : {std::size_t{100}, std::size_t{5000}, std::size_t{1} << 20}) { // a huge one
            rows.release(asks([&] { return rows.try_allocate(each); }));
            rows.trim();
        }
        auto mine = rows.local();
        mine.release(asks([&] { return mine.try_allocate(100); }));
    }
    SECTION("blocks") {
        allot::chunk_arena<of_tree> blocks{query, name{"blocks"}, small, limit{64_MiB}};
        for (const std::size_t each : {std::size_t{100}, std::size_t{4} << 20}) { // whole pages
            blocks.deallocate(asks([&] { return blocks.try_allocate(each).address; }));
            blocks.trim();
        }
    }
    SECTION("buffers") {
        allot::heap_memory heap;
        allot::buffer_memory memory{heap};
        asks([&] { return memory.try_allocate(query, 100'000); }).release();
        allot::chunk_arena<of_pool> pool{query, name{"pool"}, small, limit{64_MiB}};
        allot::buffer_memory pooled{pool};
        account scan{query, name{"scan"}};
        asks([&] { return pooled.try_allocate(scan, 100'000); }).release();
    }
    SECTION("memory of a device") {
        allocator_machine m;
        allot::device_allocator<of_device> gpu{m.api, query, name{"gpu"}};
        gpu.deallocate(asks([&] { return gpu.try_allocate(4_MiB, m.a); }), m.a);
    }
    SECTION("unused memory goes first") {
        allot::row_manager<of_tree> rows{query, name{"rows"}, small, limit{64_MiB}};
        std::vector<void*> held;
        while (rows.used() < 2_MiB) held.push_back(rows.try_allocate(1000));
        for (void* const row : held) rows.release(row);
        REQUIRE(rows.used() >= 2_MiB);
        s.keep(8_MiB - query.used());
        REQUIRE(far.try_charge(1_MiB));
        account leaf{query, name{"leaf"}};
        REQUIRE(leaf.try_charge(1_MiB));
        CHECK(s.taken() == nobody);
        CHECK(query.used() <= 8_MiB);
        REQUIRE(leaf.try_charge(2_MiB)); // more than the rows left unused
        CHECK(s.asked.size() == 1);
        CHECK(query.used() == 8_MiB);
        leaf.refund(3_MiB), far.refund(1_MiB);
    }
}

namespace {

// The same for several threads.
struct spills final : allot::reclaimer {
    explicit spills(account& above) : reclaimer("spills", 1), at{above, allot::name{"spills"}} { at.add(*this); }
    ~spills() {
        at.remove(*this);
        at.refund(kept);
    }
    bool keep(std::size_t bytes) { return at.try_charge(bytes) && (kept += bytes) != 0; }
    bool helps(const allot::shortage&) const noexcept override { return true; }
    bool reclaim(const allot::shortage& s) noexcept override {
        if (s.ahead) ++ahead;
        if (inside.fetch_add(1) != 0) twice = true;
        std::size_t held = kept.load();
        const std::size_t most = s.missing() << s.in_vain; // others took what was missing
        while (!kept.compare_exchange_weak(held, held - (held < most ? held : most))) {
        }
        at.refund(held < most ? held : most);
        inside.fetch_sub(1);
        return held != 0;
    }
    account at;
    std::atomic<std::size_t> kept{0};
    std::atomic<int> inside{0}, ahead{0};
    std::atomic<bool> twice{false};
};

} // namespace

TEST_CASE("threads: one asks at a time at a level, and no request is refused", "[accounts][watermark][threads]") {
    account root{name{"root"}, limit{1_MiB}, watermark{256_KiB}};
    spills s{root};
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t != 8; ++t)
        threads.emplace_back([&, t] {
            account leaf{root, name{"leaf"}, allot::credit_step{t % 2 == 0 ? std::size_t{0} : std::size_t{4096}}};
            for (int i = 0; i != 1000; ++i) {
                if (!s.keep(1000)) ++refused;
                const std::size_t some = std::size_t{1} + static_cast<std::size_t>(i * 37 % 6000);
                if (!leaf.try_charge(some)) ++refused;
                else leaf.refund(some);
            }
        });
    for (auto& t : threads) t.join();
    CHECK(refused == 0); // though 8 MB were kept
    CHECK_FALSE(s.twice);
    CHECK(s.ahead > 0);
    CHECK(root.peak() <= 1_MiB);
    CHECK(root.used() == s.kept);
    CHECK(root.verify());
}

TEST_CASE("threads: rows and data that can leave, below one watermark", "[accounts][watermark][threads]") {
    account root{name{"root"}, limit{32_MiB}, watermark{4_MiB}};
    spills s{root};
    std::atomic<int> refused{0};
    {
        allot::row_manager<of_tree> rows{root, name{"rows"}, small};
        std::vector<std::thread> threads;
        for (int t = 0; t != 8; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i != 20; ++i) {
                    std::vector<void*> held;
                    for (int n = 0; n != 300; ++n) held.push_back(rows.try_allocate(1000));
                    for (void* const row : held) refused += row == nullptr, rows.release(row);
                    refused += !s.keep(100'000);
                }
            });
        for (auto& t : threads) t.join();
        CHECK(rows.live_rows() == 0);
    }
    CHECK(refused == 0);
    CHECK_FALSE(s.twice);
    CHECK(s.ahead > 0);
    CHECK(root.used() == s.kept);
    CHECK(s.kept <= 5_MiB); // eight threads may have passed a sweep that ran
    CHECK(root.verify());
}

TEST_CASE("reports show a watermark", "[accounts][watermark][report]") {
    account query{name{"query"}, limit{1_MiB}, watermark{512_KiB}}, leaf{query, name{"leaf"}};
    char text[2000];
    allot::text_writer out{text};
    write_accounts(out, query);
    CHECK(out.view().find("query: 0 bytes used of 1 MiB (watermark 512 KiB), peak") != std::string_view::npos);
    CHECK(out.view().find("leaf: 0 bytes used, peak") != std::string_view::npos);
    allot::text_writer json{text};
    write_accounts_json(json, query);
    CHECK(json.view().find("\"watermark\":524288") != std::string_view::npos);
    CHECK(json.view().find("\"watermark\":18446744073709551615") != std::string_view::npos);
}
