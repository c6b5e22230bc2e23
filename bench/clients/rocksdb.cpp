// RocksDB reads and writes at random through a block cache of 64 MiB, a fifth of the data: with its own memory,
// glibc's, or with allot's behind the cache.
//
//     allot_client_rocksdb [--set default|allot] [--limit BYTES] [--scale N]
//
// Another process has filled the database, so the heap is fresh. Four threads: 95 of 100 calls read, 5 write the same
// value again. `asked_bytes` is what the cache counts at the end, its entries' own bytes included.
#include <clients/client.hpp>

#include <allot/adapt/rocksdb.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/block_cache.hpp>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace allot::literals;

// A fifth of the data.
std::size_t cache_bytes(const bench::client_options& with) {
    return std::max(1_MiB, static_cast<std::size_t>(with.scale * double{64_MiB}));
}
constexpr unsigned threads = 4;

void must(const rocksdb::Status& good) {
    if (!good.ok()) throw std::runtime_error(good.ToString());
}

// 50 to 950 bytes of a key's own, which compress by half.
void make_value(std::uint64_t key, std::string& value) {
    std::minstd_rand random{static_cast<std::uint32_t>(key) + 1};
    value.resize(50 + random() % 901);
    for (std::size_t i = 0; i < value.size(); i += 4) {
        const auto word = static_cast<std::uint32_t>(random());
        for (std::size_t j = i; j < std::min(i + 4, value.size()); ++j)
            value[j] = j % 4 < 2 ? 'x' : static_cast<char>(word >> (8 * (j % 4 - 1)));
    }
}
std::string_view make_key(std::uint64_t key, char (&text)[24]) {
    return {text, static_cast<std::size_t>(
                      std::snprintf(text, sizeof text, "user%016llu", static_cast<unsigned long long>(key * 7'919)))};
}
std::unique_ptr<rocksdb::DB> open(const std::string& folder, std::shared_ptr<rocksdb::Cache> cache) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = std::move(cache);
    table.cache_index_and_filter_blocks = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    rocksdb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 16_MiB;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    must(rocksdb::DB::Open(options, folder, &db));
    return std::unique_ptr<rocksdb::DB>(db);
}
void fill(const std::string& folder, std::uint64_t keys) {
    const auto db = open(folder, rocksdb::NewLRUCache(8_MiB));
    rocksdb::WriteOptions unlogged;
    unlogged.disableWAL = true;
    std::string value;
    char text[24];
    for (std::uint64_t i = 0; i != keys; ++i) {
        make_value(i, value);
        const std::string_view key = make_key(i, text);
        must(db->Put(unlogged, {key.data(), key.size()}, value));
    }
    must(db->CompactRange({}, nullptr, nullptr));
}

// One thread. Returns: a checksum of what it read.
std::uint64_t calls(rocksdb::DB& db, std::uint64_t keys, std::uint64_t number, unsigned seed) {
    std::mt19937_64 random{seed};
    std::uint64_t sum = 0;
    std::string value;
    char text[24];
    rocksdb::WriteOptions unlogged;
    unlogged.disableWAL = true;
    for (std::uint64_t i = 0; i != number; ++i) {
        const std::uint64_t which = random() % keys;
        const std::string_view key = make_key(which, text);
        if (random() % 100 < 5) {
            make_value(which, value);
            must(db.Put(unlogged, {key.data(), key.size()}, value));
        } else {
            must(db.Get({}, {key.data(), key.size()}, &value));
            sum += value.size() * (which + 1) + static_cast<unsigned char>(value[value.size() / 2]);
        }
    }
    return sum;
}

int measure(const bench::client_options& with, const std::string& folder, std::shared_ptr<rocksdb::Cache> cache,
            auto held, auto more) {
    const auto keys = static_cast<std::uint64_t>(600'000 * with.scale);
    const auto number = static_cast<std::uint64_t>(300'000 * with.scale);
    bench::client_run all;
    std::atomic<std::uint64_t> sum{0};
    std::string outcome = "done";
    try {
        const auto db = open(folder, cache);
        std::vector<std::thread> working;
        std::vector<std::string> failed(threads);
        for (unsigned t = 0; t != threads; ++t)
            working.emplace_back([&, t] {
                try {
                    sum += calls(*db, keys, number, t);
                } catch (const std::exception& e) {
                    failed[t] = e.what();
                }
            });
        for (std::thread& t : working) t.join();
        for (const std::string& f : failed)
            if (!f.empty()) outcome = f;
        auto figures = more();
        figures["checksum"] = sum.load();
        all.print("rocksdb", with, outcome, cache->GetUsage(), held(), figures);
    } catch (const std::exception& e) {
        outcome = e.what();
        all.print("rocksdb", with, outcome, 0, 0);
    }
    return outcome == "done" ? 0 : 1;
}
int run(const bench::client_options& with, const std::string& folder) {
    if (with.set == "default")
        return measure(
            with, folder, rocksdb::NewLRUCache(cache_bytes(with)), [] { return std::size_t{0}; },
            [] { return nlohmann::json::object(); });
    allot::account engine{allot::name{"engine"}, allot::limit{with.limit != 0 ? with.limit : SIZE_MAX}};
    allot::row_manager<allot::use::block_cache> blocks{engine, allot::name{"block cache"}};
    rocksdb::LRUCacheOptions size;
    size.capacity = cache_bytes(with);
    allot::adapt::rocksdb_cache cache{blocks, size};
    return measure(
        with, folder, cache.cache(), [&] { return engine.peak(); },
        [&] { return nlohmann::json{{"beyond_bytes", cache.beyond().peak_bytes}}; });
}

} // namespace

int main(int argc, char** argv) {
    bench::client_options with;
    if (int code = 0; !with.parse("RocksDB's block cache", {"default", "allot"}, argc, argv, code)) return code;
    const std::string folder =
        (std::filesystem::temp_directory_path() / ("allot_client_rocksdb_" + std::to_string(getpid()))).string();
    const pid_t filler = fork();
    if (filler == 0) {
        try {
            fill(folder, static_cast<std::uint64_t>(600'000 * with.scale));
            _exit(0);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "cannot fill %s: %s\n", folder.c_str(), e.what());
            _exit(1);
        }
    }
    int filled = 1;
    const int code = waitpid(filler, &filled, 0) == filler && filled == 0 ? run(with, folder) : 1;
    std::filesystem::remove_all(folder);
    return code;
}
