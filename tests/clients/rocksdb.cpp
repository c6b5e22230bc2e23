// RocksDB's block cache over a row manager, a chunk arena and charged_blocks.
#include <support/catch.hpp>

#include <allot/adapt/rocksdb.hpp>
#include <allot/buffer/charged_blocks.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/fit/runs.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/block_cache.hpp>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::adapt::rocksdb_cache;
using Catch::Matchers::ContainsSubstring;

namespace {

struct no_chain_set : allot::policies<allot::count::none, allot::ledger::tree> {};
struct counter_set : allot::policies<allot::count::none, allot::oom::null> {};
struct pool_set : allot::policies<allot::fit::runs, allot::ledger::pool, allot::spill::chain, allot::oom::null> {};

constexpr int keys = 20'000; // with values of 400 bytes: 8 MB

std::string key_of(int i) { return "key" + std::to_string(i); }
std::string value_of(int i) {
    std::string v(400, '\0');
    auto x = static_cast<std::uint32_t>(i) * 2'654'435'761U + 1;
    for (char& c : v) {
        x = x * 1'103'515'245U + 12'345U;
        c = static_cast<char>(x >> 24);
    }
    return v;
}
int random_key(std::uint32_t& x) {
    x = x * 1'103'515'245U + 12'345U;
    return static_cast<int>((x >> 8) % keys);
}

// A database of all keys in a folder of its own, whose blocks are in this cache.
class database {
  public:
    explicit database(std::shared_ptr<rocksdb::Cache> blocks) {
        static std::atomic<int> next{0};
        folder_ = std::filesystem::temp_directory_path() /
                  ("allot_rocksdb_" + std::to_string(getpid()) + "_" + std::to_string(next++));
        std::filesystem::remove_all(folder_);
        rocksdb::BlockBasedTableOptions table;
        table.block_cache = std::move(blocks);
        table.cache_index_and_filter_blocks = true;
        table.checksum = rocksdb::kCRC32c;
        rocksdb::Options options;
        options.create_if_missing = true;
        options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
        rocksdb::DB* db = nullptr;
        require(rocksdb::DB::Open(options, folder_.string(), &db));
        db_.reset(db);
        rocksdb::WriteOptions unlogged;
        unlogged.disableWAL = true;
        for (int i = 0; i != keys; ++i) require(db->Put(unlogged, key_of(i), value_of(i)));
        require(db->Flush({}));
    }
    ~database() {
        close();
        std::filesystem::remove_all(folder_);
    }
    void close() { db_.reset(); }
    rocksdb::DB* operator->() { return db_.get(); }
    bool is_right(int i) {
        std::string got;
        return db_->Get({}, key_of(i), &got).ok() && got == value_of(i);
    }
    int count_wrong(int reads, std::uint32_t seed) {
        int wrong = 0;
        for (int i = 0; i != reads; ++i) wrong += !is_right(random_key(seed));
        return wrong;
    }

  private:
    static void require(const rocksdb::Status& s) {
        if (!s.ok()) throw std::runtime_error(s.ToString());
    }

    std::filesystem::path folder_;
    std::unique_ptr<rocksdb::DB> db_;
};

rocksdb::LRUCacheOptions capacity_of(std::size_t bytes) {
    rocksdb::LRUCacheOptions options;
    options.capacity = bytes;
    return options;
}

// A row manager, or a chunk arena behind charged_blocks, below an account.
struct over_rows {
    using source_type = allot::row_manager<allot::use::block_cache>;
    explicit over_rows(allot::account& engine) : source{engine, allot::name{"block cache"}} {}
    std::size_t live() const { return source.live_rows(); }
    source_type source;
};
struct over_rows_without_chain {
    using source_type = allot::row_manager<no_chain_set>;
    explicit over_rows_without_chain(allot::account& engine) : source{engine, allot::name{"block cache"}} {}
    std::size_t live() const { return source.live_rows(); }
    source_type source;
};
struct over_chunks {
    using source_type = allot::charged_blocks<allot::chunk_arena<pool_set>>;
    explicit over_chunks(allot::account& engine)
        : pool{engine, allot::chunk_bytes{512_KiB}}, scan{engine, allot::name{"block cache"}}, source{pool, scan} {}
    std::size_t live() const { return pool.stats().live_blocks; }
    allot::chunk_arena<pool_set> pool;
    allot::account scan;
    source_type source;
};

// Refuses each n-th request, or all.
struct failing_blocks {
    static constexpr std::size_t max_align = 4096;
    explicit failing_blocks(int n) : refuses_each(n) {}
    allot::block try_allocate(std::size_t bytes, std::size_t, allot::charge_status* why) noexcept {
        if (++requests % refuses_each == 0) {
            ++refused;
            *why = {.outcome = allot::charge_outcome::no_memory, .requested = bytes};
            return {};
        }
        live += bytes;
        auto* const at = static_cast<std::size_t*>(std::malloc(bytes + 16));
        *at = bytes;
        return {at + 2, bytes};
    }
    allot::block allocate(std::size_t bytes, std::size_t align) {
        allot::charge_status why;
        return try_allocate(bytes, align, &why);
    }
    void deallocate(const void* p) noexcept {
        live -= capacity(p);
        std::free(const_cast<std::size_t*>(static_cast<const std::size_t*>(p) - 2));
    }
    void deallocate(const void* p, std::size_t, std::size_t) noexcept { deallocate(p); }
    std::size_t capacity(const void* p) const noexcept { return static_cast<const std::size_t*>(p)[-2]; }

    const int refuses_each;
    std::atomic<int> requests{0}, refused{0};
    std::atomic<std::size_t> live{0};
};

} // namespace

TEMPLATE_TEST_CASE("RocksDB's sizes are served, and what they take is known", "[adapt]", over_rows, over_chunks) {
    allot::account engine{allot::name{"engine"}, allot::limit{64_MiB}};
    TestType of{engine};
    {
        allot::adapt::rocksdb_memory memory{of.source};
        CHECK(std::string{memory.Name()} == "allot");
        std::vector<std::pair<void*, std::size_t>> all;
        for (const std::size_t bytes : std::initializer_list<std::size_t>{0, 1, 63, 4096, 4101, 70'000, 3'000'000}) {
            void* const p = memory.Allocate(bytes);
            REQUIRE(p != nullptr);
            CHECK(reinterpret_cast<std::uintptr_t>(p) % alignof(std::max_align_t) == 0);
            CHECK(memory.UsableSize(p, bytes) >= bytes + (bytes == 1)); // the block's capacity
            std::memset(p, 7, memory.UsableSize(p, bytes));
            all.push_back({p, bytes});
        }
        void* const beyond = memory.Allocate(65_MiB); // RocksDB takes no null
        REQUIRE(beyond != nullptr);
        CHECK(memory.UsableSize(beyond, 65_MiB) == 65_MiB);
        CHECK(memory.beyond().requests == 1);
        CHECK(memory.beyond().live_bytes == 65_MiB);
        CHECK(memory.last_refusal().outcome == allot::charge_outcome::over_limit);
        CHECK(engine.used() > 65_MiB);
        memory.Deallocate(beyond);
        for (const auto& [p, bytes] : all) memory.Deallocate(p);
        CHECK(memory.beyond().live_bytes == 0);
        CHECK(memory.beyond().peak_bytes == 65_MiB);
        CHECK(of.live() == 0);
    }
    CHECK(engine.used() < 64_MiB);
}

TEMPLATE_TEST_CASE("a database whose blocks exceed the limit reads all of them", "[adapt]", over_rows,
                   over_rows_without_chain, over_chunks) {
    allot::account engine{allot::name{"engine"}, allot::limit{4_MiB}};
    TestType of{engine};
    rocksdb_cache cache{of.source, capacity_of(64_MiB)};
    {
        database db{cache.cache()};
        CHECK(db.count_wrong(20'000, 1) == 0);
        CHECK(db->VerifyChecksum().ok());
        CHECK(cache.cache()->GetUsage() > 2_MiB); // a block of an odd size does not empty it
    }
    CHECK(engine.peak() > 3_MiB);
    CHECK(engine.peak() <= 4_MiB);
    CHECK(cache.beyond().requests == 0);
    cache.evict(SIZE_MAX);
    CHECK(of.live() == 0);
}

TEST_CASE("a source without accounts evicts at its own limit", "[adapt]") {
    allot::row_manager<counter_set> rows{allot::limit{4_MiB}};
    rocksdb_cache cache{rows, capacity_of(64_MiB)};
    {
        database db{cache.cache()};
        CHECK(db.count_wrong(10'000, 1) == 0);
    }
    CHECK(rows.peak() <= 4_MiB);
    CHECK(cache.beyond().requests == 0);
    cache.evict(SIZE_MAX);
    CHECK(rows.live_rows() == 0);
}

TEMPLATE_TEST_CASE("the cache gives way to others", "[adapt]", over_rows, over_chunks) {
    allot::account engine{allot::name{"engine"}, allot::limit{12_MiB}};
    TestType of{engine};
    rocksdb_cache cache{of.source, capacity_of(64_MiB)};
    database db{cache.cache()};
    CHECK(db.count_wrong(40'000, 1) == 0);
    const std::size_t before = cache.cache()->GetUsage();
    REQUIRE(before > 6_MiB);
    {
        allot::account query{engine, allot::name{"query"}};
        REQUIRE(query.try_charge(8_MiB));
        CHECK(cache.cache()->GetUsage() < 5_MiB);
        CHECK(cache.reclaimer().calls() != 0);
        CHECK(db.count_wrong(5'000, 2) == 0); // with what is left
        CHECK_FALSE(query.try_charge(5_MiB));
        query.refund(8_MiB);
    }
    CHECK(db.count_wrong(20'000, 3) == 0);
    CHECK(cache.cache()->GetUsage() > 6_MiB);
    CHECK(engine.peak() <= 12_MiB);
    CHECK(cache.beyond().requests == 0);
    // What can never fit evicts nothing.
    void* const p = cache.cache()->memory_allocator()->Allocate(13_MiB);
    CHECK(cache.beyond().live_bytes == 13_MiB);
    CHECK(cache.cache()->GetUsage() > 6_MiB);
    cache.cache()->memory_allocator()->Deallocate(p);
}

TEST_CASE("a small shortage of others leaves a part of the cache", "[adapt]") {
    allot::account engine{allot::name{"engine"}, allot::limit{6_MiB}};
    over_rows of{engine};
    rocksdb_cache cache{of.source, capacity_of(8_MiB)};
    database db{cache.cache()};
    CHECK(db.count_wrong(40'000, 1) == 0);
    const std::size_t before = cache.cache()->GetUsage();
    REQUIRE(before > 4_MiB);
    allot::account query{engine, allot::name{"query"}};
    REQUIRE(query.try_charge(64_KiB));
    CHECK(cache.cache()->GetUsage() > before / 8);
    query.refund(64_KiB);
}

TEMPLATE_TEST_CASE("pinned blocks go beyond the limit, and are counted", "[adapt]", over_rows, over_chunks) {
    allot::account engine{allot::name{"engine"}, allot::limit{3_MiB}};
    TestType of{engine};
    rocksdb_cache cache{of.source, capacity_of(64_MiB)};
    {
        database db{cache.cache()};
        std::vector<rocksdb::PinnableSlice> pinned(keys);
        int wrong = 0;
        for (int i = 0; i != keys; ++i)
            wrong += !db->Get({}, db->DefaultColumnFamily(), key_of(i), &pinned[static_cast<std::size_t>(i)]).ok();
        for (int i = 0; i != keys; ++i) wrong += pinned[static_cast<std::size_t>(i)] != value_of(i);
        CHECK(wrong == 0);
        const auto beyond = cache.beyond();
        CHECK(beyond.live_bytes > 4_MiB);
        CHECK(engine.used() >= beyond.live_bytes);
        CHECK(engine.used() <= 3_MiB + beyond.live_bytes);
        CHECK(engine.stats().beyond != 0);
        CHECK(cache.memory().last_refusal().outcome == allot::charge_outcome::over_limit);
        allot::account query{engine, allot::name{"query"}};
        std::string report;
        try {
            query.charge(1_MiB);
        } catch (const allot::out_of_memory& e) {
            report = e.report();
        }
        CHECK_THAT(report, ContainsSubstring("pinned blocks beyond the limit"));
        const auto counted = engine.stats().beyond;
        pinned.clear(); // they stay in the cache
        CHECK(cache.beyond().live_bytes == beyond.live_bytes);
        REQUIRE(query.try_charge(1_MiB));
        CHECK(cache.beyond().live_bytes == 0);
        CHECK(engine.used() <= 3_MiB);
        CHECK(engine.stats().beyond == counted); // a count, for ever
        query.refund(1_MiB);
    }
    cache.evict(SIZE_MAX);
    CHECK(cache.beyond().live_bytes == 0);
    CHECK(of.live() == 0);
    CHECK(engine.used() <= 3_MiB);
}

TEMPLATE_TEST_CASE("readers, others that request memory and calls of the cache", "[adapt]", over_rows, over_chunks) {
    allot::account engine{allot::name{"engine"}, allot::limit{6_MiB}};
    TestType of{engine};
    rocksdb_cache cache{of.source, capacity_of(64_MiB)};
    std::atomic<int> wrong{0};
    {
        database db{cache.cache()};
        std::atomic<bool> ends{false};
        std::vector<std::thread> others, readers;
        others.emplace_back([&] {
            while (!ends) {
                cache.cache()->SetCapacity(1_MiB);
                cache.cache()->SetCapacity(64_MiB);
                cache.cache()->EraseUnRefEntries();
                std::this_thread::yield();
            }
        });
        others.emplace_back([&] {
            allot::account query{engine, allot::name{"query"}};
            while (!ends)
                if (query.try_charge(1_MiB)) query.refund(1_MiB);
                else ++wrong;
        });
        for (unsigned t = 0; t != 3; ++t) readers.emplace_back([&, t] { wrong += db.count_wrong(6000, t); });
        for (std::thread& t : readers) t.join();
        ends = true;
        for (std::thread& t : others) t.join();
        CHECK(db->VerifyChecksum().ok());
    }
    CHECK(wrong == 0);
    CHECK(engine.peak() <= 6_MiB);
    CHECK(cache.beyond().requests == 0);
    cache.evict(SIZE_MAX);
    CHECK(of.live() == 0);
}

TEST_CASE("a source that fails costs no read", "[adapt]") {
    for (const int n : {1, 3, 1000}) {
        failing_blocks blocks{n};
        {
            rocksdb_cache cache{blocks, capacity_of(2_MiB)};
            {
                database db{cache.cache()};
                CHECK(db.count_wrong(5000, 1) == 0);
                CHECK(db->VerifyChecksum().ok());
            }
            CHECK(blocks.refused != 0);
            CHECK((n == 1) == (cache.beyond().requests != 0)); // else the second request is served
            if (n == 1) CHECK(cache.memory().last_refusal().outcome == allot::charge_outcome::no_memory);
            cache.evict(SIZE_MAX);
            CHECK(cache.beyond().live_bytes == 0);
            CHECK(blocks.live == 0);
        }
    }
}

TEST_CASE("a database keeps its cache longer than the rocksdb_cache", "[adapt]") {
    allot::account engine{allot::name{"engine"}, allot::limit{4_MiB}};
    over_rows of{engine};
    auto cache = std::make_unique<rocksdb_cache<over_rows::source_type>>(of.source, capacity_of(64_MiB));
    {
        database db{cache->cache()};
        cache.reset();
        CHECK(db.count_wrong(10'000, 1) == 0);
    }
    CHECK(engine.peak() <= 4_MiB);
    CHECK(of.live() == 0);
}

TEST_CASE("evict() takes about what it is asked for", "[adapt]") {
    allot::account engine{allot::name{"engine"}, allot::limit{64_MiB}};
    over_chunks of{engine};
    rocksdb_cache cache{of.source, capacity_of(16_MiB)};
    database db{cache.cache()};
    CHECK(db.count_wrong(60'000, 1) == 0);
    const std::size_t before = cache.cache()->GetUsage();
    REQUIRE(before > 6_MiB);
    const std::size_t freed = cache.evict(1_MiB);
    CHECK(freed >= 1_MiB);
    CHECK(freed <= 2_MiB);
    CHECK(cache.cache()->GetUsage() <= before - 1_MiB);
    CHECK(cache.cache()->GetUsage() >= before - 3_MiB);
}

TEMPLATE_TEST_CASE("evict() knows the capacity of the moment", "[adapt]", over_rows, over_chunks) {
    for (const std::size_t first : {0_MiB, 1_MiB, 32_MiB, 1024_GiB}) {
        allot::account engine{allot::name{"engine"}, allot::limit{64_MiB}};
        TestType of{engine};
        rocksdb_cache cache{of.source, capacity_of(first)};
        cache.cache()->SetCapacity(32_MiB);
        database db{cache.cache()};
        CHECK(db.count_wrong(40'000, 1) == 0);
        const std::size_t before = cache.cache()->GetUsage();
        REQUIRE(before > 6_MiB);
        const std::size_t freed = cache.evict(1_MiB);
        CHECK(freed >= 1_MiB);
        CHECK(freed <= 3_MiB);
        cache.cache()->SetCapacity(4_MiB);
        REQUIRE(cache.cache()->GetUsage() > 2_MiB);
        CHECK(cache.evict(256_KiB) >= 256_KiB);
        CHECK(cache.cache()->GetUsage() > 2_MiB);
        cache.cache()->SetCapacity(0);
        CHECK(cache.evict(1) == 0);
        CHECK(db.count_wrong(1000, 2) == 0);
        CHECK(cache.cache()->GetPinnedUsage() <= 32_KiB); // the index of the table, if anything
        CHECK(cache.beyond().requests == 0);
    }
}

TEST_CASE("at the limit a part of the cache is evicted, whatever the capacity was, and is", "[adapt]") {
    for (const auto& [first, then] : {std::pair{1_MiB, 64_MiB}, std::pair{64_MiB, 1024_GiB}}) {
        allot::account engine{allot::name{"engine"}, allot::limit{4_MiB}};
        over_rows of{engine};
        rocksdb_cache cache{of.source, capacity_of(first)};
        cache.cache()->SetCapacity(then);
        database db{cache.cache()};
        CHECK(db.count_wrong(20'000, 1) == 0);
        std::size_t least = SIZE_MAX;
        int wrong = 0;
        for (std::uint32_t i = 0; i != 2000; ++i) {
            wrong += db.count_wrong(5, i);
            least = std::min(least, cache.cache()->GetUsage());
        }
        CHECK(wrong == 0);
        CHECK(least > 1_MiB);
        const std::size_t before = cache.cache()->GetUsage();
        allot::account query{engine, allot::name{"query"}};
        REQUIRE(query.try_charge(64_KiB));
        CHECK(cache.cache()->GetUsage() > before / 8);
        query.refund(64_KiB);
        CHECK(cache.beyond().requests == 0);
    }
}

// SetCapacity() calls deleters below a mutex that GetCapacity() takes. A deadlock if an eviction calls it there.
TEST_CASE("a listener that evicts while SetCapacity() does", "[adapt]") {
    struct evicting final : allot::account_listener {
        explicit evicting(rocksdb_cache<over_chunks::source_type>& of) : cache{of} {}
        void transferred(const allot::account&, const allot::account&, std::size_t,
                         const allot::charge_status&) noexcept override {
            ++calls; // blocks go back to the pool
            static_cast<void>(cache.evict(1));
        }
        rocksdb_cache<over_chunks::source_type>& cache;
        int calls = 0;
    };
    allot::account engine{allot::name{"engine"}, allot::limit{4_MiB}};
    over_chunks of{engine};
    rocksdb_cache cache{of.source, capacity_of(64_MiB)};
    database db{cache.cache()};
    CHECK(db.count_wrong(5000, 1) == 0);
    evicting listener{cache};
    of.scan.add(listener);
    cache.cache()->SetCapacity(0);
    of.scan.remove(listener);
    CHECK(listener.calls != 0);
}

TEST_CASE("a strict capacity below the limit fails reads, and nothing is beyond", "[adapt]") {
    allot::account engine{allot::name{"engine"}, allot::limit{4_MiB}};
    over_rows of{engine};
    rocksdb::LRUCacheOptions options = capacity_of(3_MiB);
    options.strict_capacity_limit = true;
    rocksdb_cache cache{of.source, options};
    database db{cache.cache()};
    std::vector<rocksdb::PinnableSlice> pinned(keys);
    int failed = 0;
    for (int i = 0; i != keys; ++i)
        failed += !db->Get({}, db->DefaultColumnFamily(), key_of(i), &pinned[static_cast<std::size_t>(i)]).ok();
    CHECK(failed > keys / 4);
    CHECK(failed < keys);
    CHECK(cache.beyond().requests == 0);
    CHECK(engine.peak() <= 4_MiB);
    pinned.clear();
    CHECK(db.count_wrong(5000, 1) == 0);
}

TEMPLATE_TEST_CASE("options may keep the cache longer than its source lives", "[adapt]", over_rows, over_chunks) {
    std::shared_ptr<rocksdb::Cache> kept; // as Options and BlockBasedTableOptions do
    {
        allot::account engine{allot::name{"engine"}, allot::limit{3_MiB}};
        TestType of{engine};
        rocksdb_cache cache{of.source, capacity_of(64_MiB)};
        kept = cache.cache();
        database db{kept};
        std::vector<rocksdb::PinnableSlice> pinned(keys);
        int failed = 0;
        for (int i = 0; i != keys; ++i)
            failed += !db->Get({}, db->DefaultColumnFamily(), key_of(i), &pinned[static_cast<std::size_t>(i)]).ok();
        CHECK(failed == 0);
        pinned.clear();
        CHECK(cache.beyond().live_bytes != 0);
        CHECK(kept->GetUsage() > 2_MiB);
    }
    CHECK(kept->GetUsage() == 0);
    CHECK(kept.use_count() == 1);
}

TEST_CASE("a source whose account is closed makes no cache", "[adapt]") {
    for (const bool above : {false, true}) {
        allot::account engine{allot::name{"engine"}, allot::limit{4_MiB}};
        over_rows of{engine};
        (above ? engine : of.source.account()).close_when_drained([](allot::account&, void*) noexcept {});
        CHECK_THROWS_WITH((rocksdb_cache{of.source, capacity_of(1_MiB)}),
                          ContainsSubstring("RocksDB's cache refused by its source: closed: account block cache"));
    }
}

TEST_CASE("options that RocksDB refuses are an error", "[adapt]") {
    allot::row_manager<counter_set> rows{allot::limit{4_MiB}};
    rocksdb::LRUCacheOptions options = capacity_of(1_MiB);
    options.num_shard_bits = 20;
    CHECK_THROWS_WITH((rocksdb_cache{rows, options}), ContainsSubstring("num_shard_bits"));
    options.num_shard_bits = 2;
    options.memory_allocator = std::make_shared<allot::adapt::rocksdb_memory<decltype(rows)>>(rows);
    CHECK_THROWS_WITH((rocksdb_cache{rows, options}), ContainsSubstring("memory_allocator"));
}
