// SQLite's memory and its cache of pages, from row managers, chunk arenas and blocks charged to an account.
#include <support/catch.hpp>
#include <support/death.hpp>

#include <allot/account/account.hpp>
#include <allot/adapt/sqlite.hpp>
#include <allot/adapt/sqlite_pages.hpp>
#include <allot/buffer/charged_blocks.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>

#include <sqlite3.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace allot::literals;
using allot::adapt::sqlite_memory;
using allot::adapt::sqlite_pages;

namespace {

struct tree_rows : allot::with<allot::use::containers, allot::ledger::tree, allot::spill::chain> {};
struct tree_blocks : allot::policies<allot::ledger::tree> {};
using rows_of_a_limit = allot::row_manager<allot::use::containers>;
using rows_of_a_tree = allot::row_manager<tree_rows>;
using blocks_of_a_tree = allot::chunk_arena<tree_blocks>;

// A file that ends with the test, and those that SQLite makes beside it.
class temporary_file {
  public:
    temporary_file() {
        std::string name = (std::filesystem::temp_directory_path() / "allot-sqlite-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        folder_ = name;
    }
    ~temporary_file() { std::filesystem::remove_all(folder_); }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    std::string path() const { return (folder_ / "rows.db").string(); }

  private:
    std::filesystem::path folder_;
};

class database {
  public:
    explicit database(const std::string& path) : code_(sqlite3_open(path.c_str(), &db_)) {
        if (code_ == SQLITE_OK) sqlite3_busy_timeout(db_, 60'000);
    }
    ~database() { CHECK_ON_THREAD(sqlite3_close(db_) == SQLITE_OK); }
    database(const database&) = delete;
    database& operator=(const database&) = delete;

    int code() const { return code_; }
    sqlite3* get() const { return db_; }
    int run(const std::string& sql) { return sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr); }
    // The first value of the first row; "error N" where the statement fails.
    std::string ask(const std::string& sql) {
        sqlite3_stmt* statement = nullptr;
        int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr);
        std::string answer;
        if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
            if (const unsigned char* const text = sqlite3_column_text(statement, 0))
                answer = reinterpret_cast<const char*>(text);
        sqlite3_finalize(statement);
        return code == SQLITE_ROW || code == SQLITE_DONE ? answer : "error " + std::to_string(code);
    }

  private:
    sqlite3* db_ = nullptr;
    int code_;
};

std::string fill(int rows) {
    return "insert into t select i, hex(randomblob(40)) from (with recursive n(i) as (select 1 union all select i + 1 "
           "from n limit " +
           std::to_string(rows) + ") select i from n);";
}
bool is_no_memory(int code) { return code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM; }

// What programs do: a table, an index, a join, a sort, updates, rollbacks, another file.
int run_all(database& db, int rows) {
    if (db.code() != SQLITE_OK) return db.code();
    for (const std::string& sql :
         {std::string{"begin; create table if not exists t(a integer, b text)"}, fill(rows), std::string{"commit"},
          std::string{"create index if not exists by_b on t(b)"},
          std::string{"select count(*) from t x join t y on x.b = y.b where x.a % 3 = 0"},
          std::string{"select b from t order by substr(b, 3) limit 10"},
          std::string{"begin; delete from t where a % 2 = 0; rollback"},
          std::string{"update t set b = b || 'x' where a % 5 = 0"}, std::string{"delete from t where a % 7 = 0"},
          std::string{"drop index by_b; drop table t; vacuum"}})
        if (const int code = db.run(sql); code != SQLITE_OK) return code;
    return SQLITE_OK;
}

// Sources of each kind, with 64 MiB.
struct of_a_limit {
    rows_of_a_limit source{allot::limit{64_MiB}};
    std::size_t living() const { return source.live_rows(); }
};
struct of_a_tree {
    allot::account engine{allot::name{"engine"}, allot::limit{64_MiB}};
    rows_of_a_tree source{engine, allot::name{"SQLite"}};
    std::size_t living() const { return source.live_rows(); }
};
struct of_blocks {
    allot::account engine{allot::name{"engine"}, allot::limit{64_MiB}};
    blocks_of_a_tree source{engine};
    std::size_t living() const { return source.stats().live_blocks; }
};
struct of_charged_blocks {
    of_blocks pool;
    allot::account scan{pool.engine, allot::name{"scan"}};
    allot::charged_blocks<blocks_of_a_tree> source{pool.source, scan};
    std::size_t living() const { return pool.living() + scan.used(); }
};

} // namespace

TEMPLATE_TEST_CASE("statements run in memory of the source, and leave none of it behind", "[adapt]", of_a_limit,
                   of_a_tree, of_blocks, of_charged_blocks) {
    TestType of;
    using source = std::remove_reference_t<decltype(of.source)>;
    for (const bool with_pages : {false, true}) {
        const temporary_file file;
        const sqlite_memory<source> memory{of.source};
        std::optional<sqlite_pages<source>> cache;
        if (with_pages) cache.emplace(of.source);
        CHECK(&memory.source() == &of.source);
        for (const std::string& path : {std::string{":memory:"}, file.path()}) {
            database db{path};
            CHECK(run_all(db, 3000) == SQLITE_OK);
            CHECK(db.ask("pragma integrity_check") == "ok");
            CHECK(of.living() > 10);
            if (cache) CHECK(cache->pages() > 0);
        }
        CHECK(memory.why().outcome == allot::charge_outcome::fits);
        CHECK_NOTHROW(memory.rethrow_refusal());
    }
    CHECK(of.living() == 0);
    CHECK(sqlite3_memory_used() == 0);
}

TEMPLATE_TEST_CASE("SQLite's own counts and sizes are those of the source", "[adapt]", of_a_limit, of_blocks) {
    TestType of;
    const sqlite_memory memory{of.source};
    REQUIRE(sqlite3_initialize() == SQLITE_OK);
    const auto before = sqlite3_memory_used();
    const auto living = of.living();
    for (const int bytes : {1, 8, 24, 100, 1000, 4096, 4097, 5000, 48'000, 70'000, 3'000'000}) {
        void* p = sqlite3_malloc(bytes);
        REQUIRE(p != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(p) % 8 == 0);
        CHECK(sqlite3_msize(p) == of.source.capacity(p));
        CHECK(sqlite3_msize(p) >= static_cast<sqlite3_uint64>(bytes));
        CHECK(sqlite3_memory_used() - before == static_cast<sqlite3_int64>(sqlite3_msize(p)));
        std::memset(p, 7, static_cast<std::size_t>(bytes));
        p = sqlite3_realloc(p, 2 * bytes + 50'000);
        REQUIRE(p != nullptr);
        for (int i = 0; i < bytes; ++i)
            if (static_cast<const char*>(p)[i] != 7) FAIL(i << " of " << bytes);
        std::memset(p, 7, static_cast<std::size_t>(2 * bytes + 50'000));
        p = sqlite3_realloc(p, bytes);
        REQUIRE(p != nullptr);
        CHECK(static_cast<const char*>(p)[bytes - 1] == 7);
        CHECK(sqlite3_memory_used() - before == static_cast<sqlite3_int64>(sqlite3_msize(p)));
        sqlite3_free(p);
        CHECK(sqlite3_memory_used() == before);
    }
    CHECK(of.living() == living);
    // SQLite's own limit holds as well; it takes no part of the source's.
    CHECK(sqlite3_hard_heap_limit64(before + 100'000) == 0);
    CHECK(sqlite3_malloc(200'000) == nullptr);
    CHECK(memory.why().outcome == allot::charge_outcome::fits);
    sqlite3_hard_heap_limit64(0);
    sqlite3_soft_heap_limit64(0);
    void* const p = sqlite3_malloc(200'000);
    CHECK(p != nullptr);
    sqlite3_free(p);
}

// The limit is lower for each run: a statement runs, or ends with SQLITE_NOMEM and the reason is kept. What was
// committed before is there, whole.
TEMPLATE_TEST_CASE("statements that run out of memory harm no database", "[adapt]", std::false_type, std::true_type) {
    rows_of_a_limit rows{allot::limit{64_MiB}, allot::name{"SQLite"}};
    const temporary_file file;
    {
        const sqlite_memory memory{rows};
        std::optional<sqlite_pages<rows_of_a_limit>> cache;
        if (TestType::value) cache.emplace(rows);
        database kept{file.path()};
        REQUIRE(kept.run("create table k(a integer primary key, b text); create index k_b on k(b);") == SQLITE_OK);
        REQUIRE(kept.run("begin; create table t(a, b);" + fill(500) +
                         "insert into k select a, b from t; drop table t;"
                         "commit") == SQLITE_OK);
        int refused = 0, served = 0;
        for (int step = 0; step != 80; ++step) {
            rows.trim();
            rows.set_limit(256_KiB + static_cast<std::size_t>(step) * 96_KiB);
            int code = 0;
            {
                database db{step % 2 == 0 ? file.path() : ":memory:"};
                code = run_all(db, 1500);
                rows.set_limit(64_MiB);
                if (code != SQLITE_OK && step % 2 == 0) db.run("rollback");
                if (db.code() == SQLITE_OK) CHECK(db.ask("pragma integrity_check") == "ok");
            }
            CHECK(kept.ask("select count(*) || sum(length(b)) from k") == "50040000");
            if (code == SQLITE_OK) {
                ++served;
                continue;
            }
            if (!is_no_memory(code)) FAIL("step " << step << " ended with " << code);
            ++refused;
            CHECK(memory.why().outcome == allot::charge_outcome::over_limit);
            try {
                memory.rethrow_refusal();
                FAIL("nothing was thrown");
            } catch (const allot::out_of_memory& e) {
                CHECK_THAT(std::string{e.what()}, ContainsSubstring("SQLite's memory: over the limit"));
                CHECK_THAT(std::string{e.report()}, ContainsSubstring("row manager SQLite"));
            }
            CHECK_NOTHROW(memory.rethrow_refusal());
            REQUIRE(kept.run("drop index if exists by_b; drop table if exists t") == SQLITE_OK);
        }
        CHECK(refused >= 12);
        CHECK(served >= 12);
        CHECK(kept.ask("pragma integrity_check") == "ok");
    }
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("a refusal is that of the thread which asks", "[adapt]") {
    rows_of_a_limit rows{allot::limit{2_MiB}};
    const sqlite_memory memory{rows};
    CHECK(sqlite3_malloc(3 << 20) == nullptr);
    std::jthread{[&] {
        CHECK_ON_THREAD(sqlite3_malloc(5 << 20) == nullptr);
        CHECK_ON_THREAD(memory.why().requested >= 5_MiB);
    }}.join();
    CHECK(memory.why().requested < 4_MiB);
    CHECK_THROWS_AS(memory.rethrow_refusal(), allot::out_of_memory);
    CHECK(memory.why().requested >= 5_MiB); // none is left of this thread
    CHECK_THROWS_AS(memory.rethrow_refusal(), allot::out_of_memory);
    CHECK_NOTHROW(memory.rethrow_refusal());
    // 16 threads are kept, the newest ones.
    {
        std::atomic<int> turn{1};
        std::vector<std::jthread> threads;
        for (int i = 1; i <= 20; ++i)
            threads.emplace_back([&turn, i] {
                while (turn != i) std::this_thread::yield();
                CHECK_ON_THREAD(sqlite3_malloc((i + 2) << 20) == nullptr);
                ++turn;
                while (turn <= 20) std::this_thread::yield(); // its id is not used again
            });
    }
    int thrown = 0;
    while (memory.why().outcome != allot::charge_outcome::fits) {
        CHECK(memory.why().requested >= 7_MiB);
        CHECK_THROWS_AS(memory.rethrow_refusal(), allot::out_of_memory);
        ++thrown;
    }
    CHECK(thrown == 16);
}

TEST_CASE("a refusal ends with what refused it", "[adapt]") {
    for (int i = 0; i != 2; ++i) {
        const auto engine = std::make_unique<allot::account>(allot::name{"engine"}, allot::limit{2_MiB});
        allot::row_manager<tree_rows> rows{*engine};
        const sqlite_memory memory{rows};
        CHECK(memory.why().outcome == allot::charge_outcome::fits);
        CHECK_NOTHROW(memory.rethrow_refusal());
        CHECK(sqlite3_malloc(3 << 20) == nullptr);
        CHECK(memory.why().outcome == allot::charge_outcome::over_limit);
    }
}

TEST_CASE("a cache keeps what its database allows, and gives up the rest", "[adapt]") {
    of_a_tree of;
    const temporary_file file;
    {
        const sqlite_memory memory{of.source};
        sqlite_pages pages{of.source};
        database db{file.path()};
        REQUIRE(db.run("pragma cache_size = 500; create table t(a, b);" + fill(20'000)) == SQLITE_OK);
        const auto scan = [&] { REQUIRE(db.ask("select sum(length(b)) from t") == "1600000"); };
        scan();
        const std::size_t most = pages.pages();
        CHECK(most <= 502);
        CHECK(most >= 400);
        CHECK(pages.unused_pages() >= most - 2);
        const std::size_t freed = pages.drop(10 * 4096);
        CHECK(freed >= 10 * 4096);
        CHECK(freed <= 11 * 4600);
        CHECK(pages.pages() == most - 10);

        REQUIRE(db.run("pragma cache_size = 100") == SQLITE_OK);
        CHECK(pages.pages() <= 100);
        scan();
        CHECK(pages.pages() <= 102);
        REQUIRE(db.run("pragma shrink_memory") == SQLITE_OK);
        CHECK(pages.pages() <= 2);

        // Pages that were changed and not written stay; so do all of a database in memory.
        scan();
        REQUIRE(db.run("begin; update t set b = b || 'y' where a < 300") == SQLITE_OK);
        database other{":memory:"};
        REQUIRE(other.run("create table t(a, b);" + fill(20'000)) == SQLITE_OK);
        const std::size_t all = pages.pages(), unused = pages.unused_pages();
        CHECK(unused > 10);
        pages.drop(SIZE_MAX);
        CHECK(pages.unused_pages() == 0);
        CHECK(pages.pages() == all - unused);
        CHECK(other.ask("pragma integrity_check") == "ok");
        CHECK(other.ask("select sum(length(b)) from t") == "1600000");
        REQUIRE(db.run("commit") == SQLITE_OK);
        CHECK(db.ask("select sum(length(b)) from t") == "1600299");
        CHECK(db.ask("pragma integrity_check") == "ok");

        // A request of another account.
        REQUIRE(db.run("pragma cache_size = 5000") == SQLITE_OK);
        REQUIRE(db.ask("select sum(length(b)) from t") == "1600299");
        const std::size_t held = pages.unused_pages();
        CHECK(held > 300);
        of.source.trim(); // what is left are pages that databases keep
        allot::account query{of.engine, allot::name{"query"}};
        const std::size_t bytes = 64_MiB - of.engine.used() + 512_KiB;
        CHECK(query.try_charge(bytes));
        CHECK(pages.unused_pages() < held);
        CHECK(pages.calls() >= 1);
        query.refund(bytes);
        CHECK(db.ask("select sum(length(b)) from t") == "1600299");
    }
    CHECK(of.living() == 0);
}

TEST_CASE("SQLite's own requests take pages that no statement uses", "[adapt]") {
    rows_of_a_limit rows{allot::limit{4_MiB}};
    const temporary_file file;
    const sqlite_memory memory{rows};
    sqlite_pages pages{rows};
    database db{file.path()};
    REQUIRE(db.run("pragma cache_size = 10000; create table t(a, b)") == SQLITE_OK);
    for (int i = 0; i != 12; ++i) REQUIRE(db.run(fill(5000)) == SQLITE_OK);
    REQUIRE(db.ask("select sum(length(b)) from t") == "4800000"); // more pages than the limit has room for
    CHECK(pages.unused_pages() > 300);
    void* const p = sqlite3_malloc(1 << 20);
    CHECK(p != nullptr);
    sqlite3_free(p);
    CHECK(memory.why().outcome == allot::charge_outcome::fits);
    CHECK(rows.peak() <= 4_MiB);
}

// What SQLite's manual says of xFetch and the others, also what this SQLite does not need.
TEST_CASE("a cache keeps SQLite's contract", "[adapt]") {
    of_a_limit of;
    sqlite_pages pages{of.source};
    sqlite3_pcache_methods2 calls{};
    REQUIRE(sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &calls) == SQLITE_OK);
    sqlite3_pcache* const cache = calls.xCreate(4096, 216, 1);
    REQUIRE(cache != nullptr);
    calls.xCachesize(cache, 100);
    const auto get = [&](unsigned key, int make) { return calls.xFetch(cache, key, make); };
    std::vector<sqlite3_pcache_page*> all;
    for (unsigned key = 1; key <= 90; ++key) {
        CHECK(get(key, 0) == nullptr);
        all.push_back(get(key, 1));
        REQUIRE(all.back() != nullptr);
        CHECK(*static_cast<void**>(all.back()->pExtra) == nullptr);
        std::memset(all.back()->pBuf, static_cast<int>(key), 4096);
        std::memset(all.back()->pExtra, 0xff, 216);
    }
    CHECK(get(91, 1) == nullptr); // SQLite is to write some first
    for (unsigned key = 91; key <= 110; ++key) REQUIRE(get(key, 2) != nullptr);
    CHECK(calls.xPagecount(cache) == 110);
    CHECK(pages.unused_pages() == 0);
    for (unsigned key = 110; key > 100; --key) calls.xUnpin(cache, get(key, 0), 1);
    CHECK(calls.xPagecount(cache) == 100);
    // The one that was not used for the longest time serves again, with new extra bytes.
    for (unsigned key : {3u, 1u, 2u}) calls.xUnpin(cache, all[key - 1], 0);
    CHECK(pages.unused_pages() == 3);
    CHECK(get(1, 0) == all[0]);
    sqlite3_pcache_page* const again = get(200, 2);
    CHECK(again == all[2]);
    CHECK(*static_cast<void**>(again->pExtra) == nullptr);
    CHECK(get(3, 0) == nullptr);
    CHECK(calls.xPagecount(cache) == 100);
    // A page takes the number of another one, which goes.
    calls.xUnpin(cache, get(2, 0), 0);
    calls.xRekey(cache, all[0], 1, 2);
    CHECK(get(1, 0) == nullptr);
    CHECK(get(2, 0) == all[0]);
    CHECK(static_cast<const char*>(all[0]->pBuf)[4095] == 1);
    CHECK(calls.xPagecount(cache) == 99);
    calls.xTruncate(cache, 51);
    CHECK(calls.xPagecount(cache) == 48);
    CHECK(get(200, 0) == nullptr);
    CHECK(get(50, 0) == all[49]);
    CHECK(static_cast<const char*>(all[49]->pBuf)[17] == 50);
    for (unsigned key : {10u, 11u, 12u}) calls.xUnpin(cache, all[key - 1], 0);
    calls.xCachesize(cache, 46);
    CHECK(calls.xPagecount(cache) == 46);
    CHECK(get(12, 0) == all[11]);
    calls.xUnpin(cache, all[11], 0);
    calls.xShrink(cache);
    CHECK(calls.xPagecount(cache) == 45);
    calls.xDestroy(cache); // also with pages in use
    CHECK(pages.pages() == 0);
    CHECK(of.living() == 0);
}

TEST_CASE("threads use databases while others take their pages", "[adapt]") {
    of_a_tree of;
    const temporary_file file;
    {
        const sqlite_memory memory{of.source};
        sqlite_pages pages{of.source, of.engine};
        {
            database db{file.path()};
            REQUIRE(db.run("pragma journal_mode = wal; create table t(a, b);" + fill(5000)) == SQLITE_OK);
            database shared{"file:shared?mode=memory&cache=shared"};
            REQUIRE(shared.run("create table t(a, b);" + fill(3000)) == SQLITE_OK);
            std::atomic<bool> ends{false};
            std::atomic<int> dropped{0};
            std::jthread taker{[&] {
                while (!ends) {
                    if (pages.drop(20 * 4096) != 0) ++dropped;
                    allot::account query{of.engine, allot::name{"query"}};
                    const std::size_t used = of.engine.used(), bytes = used < 60_MiB ? 62_MiB - used : 1;
                    if (query.try_charge(bytes)) query.refund(bytes);
                }
            }};
            std::vector<std::jthread> threads;
            for (int i = 0; i != 3; ++i)
                threads.emplace_back([&, i] {
                    database mine{file.path()};
                    database ours{"file:shared?mode=memory&cache=shared"};
                    sqlite3_extended_result_codes(ours.get(), 0);
                    for (int n = 0; n != 12; ++n) {
                        const int code = mine.run("update t set a = a + 1 where a % 3 = " + std::to_string(i));
                        CHECK_ON_THREAD(code == SQLITE_OK || code == SQLITE_BUSY || is_no_memory(code));
                        CHECK_ON_THREAD(mine.ask("select sum(length(b)) from t") == "400000");
                        const std::string sum = ours.ask("select sum(length(b)) from t"); // or locked
                        CHECK_ON_THREAD(sum == "240000" || sum == "error 6");
                    }
                });
            threads.clear();
            ends = true;
            taker.join();
            CHECK(dropped > 0);
            CHECK(db.ask("pragma integrity_check") == "ok");
            CHECK(shared.ask("pragma integrity_check") == "ok");
        }
        CHECK(pages.pages() == 0);
    }
    CHECK(of.living() == 0);
    CHECK(of.engine.peak() <= 64_MiB);
}

TEST_CASE("SQLite has one memory, from before its first use", "[adapt]") {
    of_a_limit of;
    of_blocks other;
    const auto says = [](auto make, const char* text) {
        try {
            make();
            FAIL("nothing was thrown");
        } catch (const std::logic_error& e) {
            CHECK_THAT(std::string{e.what()}, ContainsSubstring(text));
        }
    };
    {
        const sqlite_memory memory{of.source};
        says([&] { sqlite_memory{other.source}; }, "another sqlite_memory lives");
        const sqlite_pages pages{of.source};
        says([&] { sqlite_pages{other.source}; }, "another sqlite_pages lives");
        database db{":memory:"};
        CHECK(run_all(db, 100) == SQLITE_OK);
    }
    {
        database db{":memory:"}; // in SQLite's own memory
        CHECK(run_all(db, 100) == SQLITE_OK);
        CHECK(of.living() == 0);
        says([&] { sqlite_memory{of.source}; }, "SQLite is in use: make the sqlite_memory before");
        says([&] { sqlite_pages{of.source}; }, "SQLite is in use: make the sqlite_pages before");
    }
    REQUIRE(sqlite3_shutdown() == SQLITE_OK);
    const sqlite_memory memory{of.source};
    database db{":memory:"};
    CHECK(run_all(db, 100) == SQLITE_OK);
}

TEST_CASE("an end with an open database is misuse", "[adapt]") {
    const auto ends = [](bool of_pages) {
        return death_of([of_pages] {
            of_a_limit of;
            auto memory = std::make_unique<sqlite_memory<rows_of_a_limit>>(of.source);
            auto pages = std::make_unique<sqlite_pages<rows_of_a_limit>>(of.source);
            sqlite3* db = nullptr;
            if (sqlite3_open(":memory:", &db) != SQLITE_OK) std::_Exit(1);
            if (sqlite3_exec(db, "create table t(a)", nullptr, nullptr, nullptr) != SQLITE_OK) std::_Exit(2);
            if (of_pages) pages.reset();
            else memory.reset();
            // Not in checked builds: SQLite has no memory, and frees none.
            sqlite3* more = nullptr;
            if (sqlite3_open(":memory:", &more) == SQLITE_OK &&
                sqlite3_exec(more, "create table t(a)", nullptr, nullptr, nullptr) == SQLITE_OK)
                std::_Exit(3);
            sqlite3_close(db);
            try {
                if (of_pages) sqlite_pages{of.source};
                else sqlite_memory{of.source};
                std::_Exit(4);
            } catch (const std::logic_error&) {
            }
            std::_Exit(0);
        });
    };
    for (const bool of_pages : {false, true}) {
        const death end = ends(of_pages);
        if (ALLOT_CHECKED == 0) {
            CHECK(end.survived());
            continue;
        }
        CHECK(end.ended_by_force());
        CHECK_THAT(end.said, ContainsSubstring(of_pages ? "sqlite_pages: a database is not closed"
                                                        : "sqlite_memory: a database is not closed"));
    }
}
