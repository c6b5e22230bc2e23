// A chunk arena under ledger::tree: its pages are charged to an account of its own, below the one that it was given.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/report/accounts.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

struct charged : allot::policies<allot::fit::runs, allot::ledger::tree> {};
struct quiet : allot::policies<allot::fit::runs, allot::ledger::tree, allot::oom::null> {};
struct threaded : allot::policies<allot::ledger::tree, allot::heap::per_thread, allot::oom::null> {};
struct borrowing
    : allot::policies<allot::fit::runs, allot::ledger::tree, allot::oom::null, allot::page::of<allot::arena<>>> {};
constexpr allot::page_bytes small{64_KiB};
constexpr allot::chunk_bytes chunk{256_KiB};

std::string tree_of(const account& root) {
    static char page[8192];
    allot::text_writer out{page};
    allot::write_accounts(out, root, allot::account_detail::items);
    return std::string{out.view()};
}

} // namespace

TEST_CASE("a chunk arena charges its pages to the account that it was given", "[accounts][chunks]") {
    account query{name{"query"}, limit{4_MiB}};
    {
        allot::chunk_arena<quiet> one{query, name{"one"}, small, chunk},
            two{name{"two"}, chunk, small, limit{512_KiB}, query};
        CHECK(query.stats().children == 2);
        CHECK(one.account().parent() == &query);
        CHECK(one.account().name() == std::string_view{"one"});
        std::vector<void*> held, large;
        while (const allot::block b = two.allocate(60'000)) held.push_back(b.address);
        CHECK(two.used() == 512_KiB); // its own limit
        CHECK(query.used() == two.stats().charged);
        while (const allot::block b = one.allocate(1_MiB)) large.push_back(b.address); // runs of pages
        CHECK(large.size() == 3);
        while (const allot::block b = one.allocate(10'000)) large.push_back(b.address);
        CHECK(query.used() == 4_MiB);
        CHECK(one.used() == 3584_KiB);
        CHECK(one.peak() == 3584_KiB);
        CHECK(query.peak() == 4_MiB);
        CHECK(query.headroom() == 0);
        two.set_limit(10_MiB);
        CHECK_FALSE(two.allocate(60'000)); // it is the query that is full
        CHECK(two.resize(held.front(), 200'000).address == nullptr);
        CHECK(one.valid());
        CHECK(two.valid());
        for (void* const p : held) two.deallocate(p);
        for (void* const p : large) one.deallocate(p);
        one.trim();
        two.trim();
        CHECK(query.used() == 0);
        CHECK(query.verify());
    }
    CHECK(query.stats().children == 0);
}

TEST_CASE("a large block that grows is charged, and refunded as it shrinks", "[accounts][chunks]") {
    account query{name{"query"}, limit{1_MiB}};
    allot::chunk_arena<quiet> blocks{query, small, chunk};
    CHECK(blocks.account().name() == std::string_view{"pages"});
    const allot::block b = blocks.allocate(512_KiB);
    REQUIRE(b);
    CHECK(query.used() == 512_KiB);
    CHECK_FALSE(blocks.resize(b.address, 2_MiB));
    CHECK(query.peak() == 512_KiB); // of what it did not get
    if (blocks.resize(b.address, 768_KiB)) CHECK(query.used() == 768_KiB);
    CHECK(blocks.resize(b.address, 320_KiB));
    blocks.trim();
    CHECK(query.used() == 320_KiB);
    blocks.deallocate(b.address);
    blocks.trim();
    CHECK(query.used() == 0);
}

TEST_CASE("reserved bytes pay for a buffer of a chunk arena, whatever others charge", "[accounts][chunks]") {
    struct plain : allot::policies<allot::fit::runs, allot::oom::null> {};
    account query{name{"query"}, limit{200'000}}, scan{query, name{"scan"}}, other{query, name{"other"}};
    allot::chunk_arena<plain> blocks{limit{4_MiB}, small, chunk};
    allot::buffer_memory memory{blocks};
    auto sure = scan.reserve_for(memory.capacity_for(90'000), 0_ms);
    CHECK(sure.bytes() == blocks.capacity_for(90'000));
    CHECK_FALSE(scan.reserve_for(memory.capacity_for(std::size_t{1} << 60), 0_ms)); // no block ever is so large
    const std::size_t rest = query.headroom();
    REQUIRE(other.try_charge(rest));
    allot::buffer b = memory.allocate(scan, 90'000);
    CHECK(b.block_bytes() == blocks.capacity_for(90'000));
    sure.release();
    CHECK(query.used() == rest + b.block_bytes());
    CHECK_FALSE(memory.try_allocate(scan, 70'000));
    CHECK(blocks.stats().live == b.block_bytes());
    b.release();
    other.refund(rest);
    CHECK(query.peak() == 200'000);
}

TEST_CASE("without an account a chunk arena is a tree of its own", "[accounts][chunks]") {
    allot::chunk_arena<charged> blocks{name{"alone"}, limit{1_MiB}, small, chunk};
    CHECK(blocks.account().parent() == nullptr);
    const allot::block b = blocks.allocate(100);
    CHECK(blocks.used() == 64_KiB);
    blocks.deallocate(b.address);
}

#if ALLOT_EXCEPTIONS
TEST_CASE("a chunk arena's out-of-memory page names the top holders of the tree", "[accounts][chunks]") {
    account engine{name{"engine"}, limit{2_MiB}};
    account other{engine, name{"other query"}};
    REQUIRE(other.charge(1_MiB));
    allot::chunk_arena<charged> blocks{engine, name{"sorter"}, small, chunk};
    std::vector<void*> held;
    std::string page;
    try {
        for (;;) held.push_back(blocks.allocate(30'000).address);
    } catch (const allot::out_of_memory& e) {
        page = e.report();
    }
    CHECK(page.find("accounts of engine: 2 MiB used of 2 MiB") != std::string::npos);
    CHECK(page.find("    other query: 1 MiB charged") != std::string::npos);
    CHECK(page.find("    sorter: 1 MiB charged") != std::string::npos);
    for (void* const p : held) blocks.deallocate(p);
    other.refund(1_MiB);
}
#endif

TEST_CASE("pages that the arena cannot give are in no account's peak", "[accounts][chunks]") {
    allot::arena<> arena{limit{512_KiB}, small};
    account query{name{"query"}};
    allot::chunk_arena<borrowing> blocks{query, arena, chunk};
    std::vector<void*> held;
    while (const allot::block b = blocks.allocate(100'000)) held.push_back(b.address);
    CHECK_FALSE(blocks.allocate(1_MiB));
    CHECK(query.used() <= 512_KiB);
    CHECK(query.peak() <= 512_KiB);
    CHECK(query.used() == blocks.stats().charged);
    for (void* const p : held) blocks.deallocate(p);
}

TEST_CASE("who hears of pages that were asked for may ask, make and end others on the same arena",
          "[accounts][chunks]") {
    struct tenant : allot::policies<allot::page::of<allot::arena<>>, allot::oom::null> {};
    const support::rescue ends{"a listener of who is asked for pages"};
    allot::arena<> pages{small, limit{1_MiB}};
    account query{name{"query"}};
    allot::chunk_arena<borrowing> one{pages, query, name{"one"}, chunk};
    auto leaver = std::make_unique<allot::chunk_arena<borrowing>>(pages, query, name{"leaver"}, chunk);
    auto next = std::make_unique<allot::row_manager<tenant>>(pages, name{"next"}); // asked after two
    allot::chunk_arena<borrowing> two{pages, query, name{"two"}, chunk};
    struct listener : allot::account_listener {
        allot::arena<>& pages;
        allot::chunk_arena<borrowing>& two;
        std::unique_ptr<allot::chunk_arena<borrowing>>& leaver;
        std::unique_ptr<allot::row_manager<tenant>>& next;
        unsigned calls = 0, refused = 0;
        std::string reported{};
        listener(allot::arena<>& p, allot::chunk_arena<borrowing>& t, std::unique_ptr<allot::chunk_arena<borrowing>>& l,
                 std::unique_ptr<allot::row_manager<tenant>>& n)
            : pages(p), two(t), leaver(l), next(n) {}
        void released(const account&, std::size_t) noexcept override {
            if (calls++ != 0) return;
            char page[4096];
            allot::text_writer out{page};
            two.report(out);
            reported = std::string{out.view()};
            next.reset(); // no longer asked
            leaver.reset();
            allot::row_manager<tenant> rows{pages, name{"inside"}};
            std::vector<void*> all;
            while (void* const row = rows.try_allocate(10'000)) all.push_back(row); // asks everybody
            refused += !two.try_allocate(1_MiB);
            for (void* const row : all) rows.release(row);
        }
    } hears{pages, two, leaver, next};
    std::vector<void*> held;
    for (int i = 0; i != 4; ++i) held.push_back(two.allocate(256_KiB).address);
    REQUIRE(one.arena().stats().free == 0);
    two.deallocate(held.back());
    held.pop_back();
    two.account().add(hears);
    const allot::block b = one.allocate(100'000); // two gives it up
    CHECK(b);
    CHECK(hears.calls != 0);
    CHECK(hears.refused == 1);
    CHECK_THAT(hears.reported, ContainsSubstring("held by two"));
    CHECK(two.account().remove(hears));
    one.deallocate(b.address);
    for (void* const p : held) two.deallocate(p);
    one.trim();
    two.trim();
    CHECK(pages.stats().taken == 0);
    CHECK(query.verify());
}

TEST_CASE("committed and resident bytes of a chunk arena are in the tree, and its leaks reported to its sink",
          "[accounts][chunks]") {
    std::string reported;
    account query{name{"query"}};
    {
        allot::chunk_arena<quiet> blocks{
            query, name{"hash"}, small, chunk,
            allot::leak_sink{[](void* to, std::string_view t) noexcept { static_cast<std::string*>(to)->append(t); },
                             &reported}};
        auto* const p = static_cast<unsigned char*>(blocks.allocate(200'000).address);
        for (int i = 0; i != 200'000; i += 1000) p[i] = 1;
        const allot::account_stats f = blocks.account().stats();
        CHECK(f.own == 256_KiB);
        CHECK(f.committed >= 256_KiB);
        CHECK(f.resident >= 128_KiB);
        CHECK(tree_of(query).find("- pages hash: ") != std::string::npos);
    }
    CHECK(reported.find("1 block not deallocated") != std::string::npos);
    CHECK(query.used() == 0); // and its account has gone with it, in this order
    CHECK(query.stats().children == 0);
}

TEST_CASE("chunk arenas of one account share its limit under threads, while the tree is looked at",
          "[accounts][chunks]") {
    account query{name{"query"}, limit{2_MiB}};
    allot::chunk_arena<threaded> one{query, name{"one"}, small, chunk}, two{query, name{"two"}, small, chunk};
    std::vector<std::thread> all;
    std::atomic<bool> good{true}, done{false};
    std::thread watcher{[&] {
        while (!done) {
            if (tree_of(query).empty() || query.used() > 2_MiB) good = false;
            std::this_thread::yield();
        }
    }};
    for (int t = 0; t != 4; ++t)
        all.emplace_back([&, t] {
            auto& blocks = t % 2 == 0 ? one : two;
            std::vector<void*> mine;
            for (int round = 0; round != 8; ++round) {
                for (int i = 0; i != 100; ++i)
                    if (const allot::block b = blocks.allocate(20'000)) mine.push_back(b.address);
                if (query.used() > 2_MiB) good = false;
                for (void* const p : mine) blocks.deallocate(p);
                mine.clear();
            }
        });
    for (auto& t : all) t.join();
    done = true;
    watcher.join();
    CHECK(good);
    one.trim(), two.trim();
    CHECK(query.used() == 0);
    CHECK(query.peak() <= 2_MiB);
    CHECK(query.verify());
}
