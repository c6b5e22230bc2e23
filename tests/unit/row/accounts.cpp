// Row managers whose pages are charged to a tree of accounts.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/report/accounts.hpp>
#include <allot/row_manager.hpp>
#include <allot/tree/account_peak.hpp>

#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

struct charged : allot::policies<allot::ledger::tree> {};
struct quiet : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct borrowing : allot::policies<allot::ledger::tree, allot::oom::null, allot::page::of<allot::arena<>>> {};
constexpr allot::page_bytes small{64_KiB};

struct nothing {
    static allot::leak_sink sink() {
        return {[](void*, std::string_view) noexcept {}, nullptr};
    }
};

} // namespace

TEST_CASE("a row manager charges its pages to the account that it was given", "[accounts][rows]") {
    account query{name{"query"}, limit{1_MiB}};
    {
        allot::row_manager<quiet> one{query, name{"one"}, small}, two{name{"two"}, small, limit{256_KiB}, query};
        CHECK(query.stats().children == 2);
        CHECK(one.account().parent() == &query);
        std::vector<void*> rows;
        while (void* const row = two.allocate(1000)) rows.push_back(row);
        CHECK(two.used() == 256_KiB);
        CHECK(two.limit() == 256_KiB);
        CHECK(query.used() == 256_KiB);
        while (void* const row = one.allocate(1000)) one.finalize(row), rows.push_back(row);
        CHECK(query.used() == 1_MiB);
        CHECK(one.used() == 768_KiB);
        CHECK(one.peak() == 768_KiB);
        CHECK(query.peak() == 1_MiB);
        CHECK(query.headroom() == 0);
        two.set_limit(10_MiB);
        CHECK(two.allocate(60'000) == nullptr); // it is the query that is full
        for (void* const row : rows) allot::release(row);
        one.trim();
        two.trim();
        CHECK(query.used() == 0);
        CHECK(query.verify());
    }
    CHECK(query.stats().children == 0);
}

TEST_CASE("without an account a manager is a tree of its own", "[accounts][rows]") {
    allot::row_manager<charged> rows{name{"alone"}, limit{128_KiB}, small};
    CHECK(rows.account().parent() == nullptr);
    void* const row = rows.allocate(100);
    CHECK(rows.used() == 64_KiB);
    rows.release(row);
}

TEST_CASE("a manager's account takes a watermark, and reserves a floor", "[accounts][rows]") {
    account query{name{"query"}, limit{1_MiB}};
    {
        allot::row_manager<quiet> rows{query,          name{"rows"}, small, limit{192_KiB}, allot::watermark{64_KiB},
                                       nothing::sink()};
        const auto floor = rows.account().reserve_floor_for(128_KiB, 0_ms);
        CHECK(query.used() == 128_KiB);
        CHECK(rows.account().stats().reservation == 128_KiB);
        CHECK(rows.account().stats().watermark == 64_KiB);
        REQUIRE(query.try_charge(832_KiB)); // leaves 64 KiB beside the reservation
        while (rows.allocate(1000) != nullptr) {
        }
        CHECK(rows.used() == 192_KiB); // the floor, and what is free beside it
        CHECK(rows.limit() == 192_KiB);
        query.refund(832_KiB);
    }
    CHECK(query.used() == 0);
}

#if ALLOT_EXCEPTIONS
TEST_CASE("the out-of-memory page names the top holders of the tree", "[accounts][rows]") {
    account engine{name{"engine"}, limit{1_MiB}};
    account other{engine, name{"other query"}};
    REQUIRE(other.charge(700_KiB));
    allot::row_manager<charged> rows{engine, name{"sorter"}, small, nothing::sink()};
    try {
        for (;;) rows.allocate(1000);
    } catch (const allot::out_of_memory& e) {
        const std::string page = e.report();
        CHECK(page.find("accounts of engine: 1020 KiB used of 1 MiB") != std::string::npos);
        CHECK(page.find("    other query: 700 KiB charged") < page.find("    sorter: 320 KiB charged"));
    }
    other.refund(700_KiB);
}
#endif

TEST_CASE("reports of what holds nothing say so", "[accounts][rows]") {
    allot::row_manager<charged> rows{name{"idle"}, limit{1_MiB}, small};
    const auto text_of = [](auto write) {
        char page[2048];
        allot::text_writer out{page};
        write(out);
        return std::string{page};
    };
    const std::string page = text_of([&](auto& out) { rows.report(out); });
    CHECK(page.find("held by no heap") != std::string::npos);
    CHECK(page.find("accounts of idle: 0 bytes used of 1 MiB, peak 0 bytes; no account holds bytes") !=
          std::string::npos);
    const allot::account_peak none{{}};
    CHECK(text_of([&](auto& out) { write_accounts(out, none); }) == "accounts at the peak: nothing was charged yet\n");
    CHECK(text_of([&](auto& out) { write_accounts_json(out, none); }) == "{}");
}

TEST_CASE("a page that the arena cannot give is in no peak", "[accounts][rows]") {
    allot::arena<> arena{limit{256_KiB}, small};
    account query{name{"query"}};
    allot::row_manager<borrowing> rows{query, arena, name{"rows"}, nothing::sink()};
    while (rows.allocate(1000) != nullptr) {
    }
    CHECK(query.used() == 256_KiB);
    CHECK(query.peak() == 256_KiB);
    CHECK(rows.allocate(1000) == nullptr);
    CHECK(query.peak() == 256_KiB);
}

TEST_CASE("committed and resident bytes of a manager are in the tree", "[accounts][rows]") {
    account query{name{"query"}};
    allot::row_manager<quiet> rows{query, name{"rows"}, small};
    auto* const row = static_cast<unsigned char*>(rows.allocate(40'000));
    for (int i = 0; i != 40'000; i += 1000) row[i] = 1;
    const allot::account_stats f = rows.account().stats();
    CHECK(f.own == 64_KiB);
    CHECK(f.committed >= 64_KiB);
    CHECK(f.resident >= 32_KiB);
    rows.release(row);
}

TEST_CASE("managers of one account share its limit under threads", "[accounts][rows]") {
    account query{name{"query"}, limit{2_MiB}};
    allot::row_manager<quiet> one{query, name{"one"}, small}, two{query, name{"two"}, small};
    std::vector<std::thread> all;
    std::atomic<bool> good{true};
    for (int t = 0; t != 4; ++t)
        all.emplace_back([&, t] {
            auto& rows = t % 2 == 0 ? one : two;
            std::vector<void*> mine;
            for (int round = 0; round != 20; ++round) {
                for (int i = 0; i != 200; ++i)
                    if (void* const row = rows.allocate(5000)) mine.push_back(row);
                if (query.used() > 2_MiB) good = false;
                for (void* const row : mine) rows.release(row);
                mine.clear();
            }
        });
    for (auto& t : all) t.join();
    CHECK(good);
    one.trim(), two.trim();
    CHECK(query.used() == 0);
    CHECK(query.verify());
}

TEST_CASE("rows that another thread releases into quarantine and caches while a request reclaims serve it",
          "[accounts][rows]") {
    struct asking : allot::policies<allot::ledger::tree, allot::spill::chain, allot::oom::null> {};
    struct holding
        : allot::policies<allot::ledger::tree, allot::spill::chain, allot::oom::null, allot::guard::quarantine<4096>> {
    };
    const auto serves = [](auto set) {
        using rows_type = allot::row_manager<decltype(set)>;
        struct other_thread final : allot::reclaimer {
            other_thread() : reclaimer("other thread") {}
            bool reclaim(const allot::shortage&) noexcept override {
                if (all.empty()) return false;
                std::thread([this] {
                    for (void* const row : std::exchange(all, {})) rows->release(row);
                }).join();
                return true;
            }
            rows_type* rows = nullptr;
            std::vector<void*> all;
        } other;
        account query{name{"query"}, limit{64_KiB}};
        rows_type rows{query, small};
        std::vector<void*> all;
        while (void* const row = rows.try_allocate(1000)) all.push_back(row);
        REQUIRE(all.size() > 10);
        other.rows = &rows;
        query.add(other);
        for (int n = 0; n != 10; ++n) {
            other.all.assign(all.end() - 3, all.end());
            all.resize(all.size() - 3);
            for (int i = 0; i != 3; ++i) {
                all.push_back(rows.try_allocate(1000)); // the first one calls it
                CHECK(all.back() != nullptr);
            }
            CHECK(other.all.empty());
        }
        CHECK(query.remove(other));
        for (void* const row : all) rows.release(row);
        CHECK(rows.live_rows() == 0);
    };
    serves(asking{});
    serves(holding{});
}

TEST_CASE("released() is called with no lock held: a call of the same manager does not hang", "[rows][accounts]") {
    // Counts the manager's rows; at the first call it also allocates one.
    struct user final : allot::account_listener {
        allot::row_manager<quiet>* rows = nullptr;
        std::size_t bytes = 0;
        void* row = nullptr;
        void released(const account&, std::size_t now) noexcept override {
            bytes += now;
            static_cast<void>(rows->live_rows());
            if (row == nullptr) row = rows->try_allocate(1000);
        }
    };
    const auto told = [](auto returns_pages) {
        account query{name{"query"}, limit{1_MiB}};
        user listener;
        {
            allot::row_manager<quiet> rows{query, small};
            listener.rows = &rows;
            const std::size_t pages = returns_pages(rows, [&] { query.add(listener); });
            CHECK(pages > 1);
            CHECK(listener.bytes == pages * rows.arena().page_bytes());
            CHECK(listener.row != nullptr);
            CHECK(rows.used() == rows.arena().page_bytes());
            rows.release(listener.row);
            query.remove(listener);
        }
        CHECK(query.used() == 0);
    };
    told([](auto& rows, auto listen) {
        std::vector<void*> all;
        while (void* const row = rows.try_allocate(1000)) all.push_back(row);
        for (void* const row : all) rows.release(row);
        listen();
        return rows.trim() / rows.arena().page_bytes();
    });
    told([](auto& rows, auto listen) {
        auto heap = rows.heap(allot::as<allot::heap::unique>, 1000);
        while (heap.try_allocate() != nullptr) continue;
        heap.release_all();
        listen();
        return rows.trim() / rows.arena().page_bytes();
    });
}
