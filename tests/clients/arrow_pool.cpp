// arrow::MemoryPool over a chunk arena.
#include <support/catch.hpp>

#include <allot/adapt/arrow_pool.hpp>
#include <allot/buffer/charged_blocks.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/task.hpp>
#include <allot/use/drill.hpp>
#include <allot/use/spark.hpp>

#include <arrow/buffer.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::adapt::arrow_pool;
using Catch::Matchers::ContainsSubstring;

namespace {

struct blocks_set : allot::policies<allot::ledger::tree> {};
struct raise_set : allot::policies<> {};
struct null_set : allot::policies<allot::oom::null> {};

bool is_at(const void* p, std::int64_t align) {
    return reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(align) == 0;
}
std::uint8_t byte_of(std::int64_t i) { return static_cast<std::uint8_t>(i * 7 + i / 251); }

} // namespace

TEST_CASE("Arrow's sizes and alignments are served", "[adapt]") {
    allot::account all_memory{allot::name{"all"}, allot::limit{64_MiB}};
    allot::chunk_arena<blocks_set> blocks{all_memory};
    arrow_pool pool{blocks};
    CHECK(pool.backend_name() == "allot");
    std::int64_t asked = 0;
    std::vector<std::pair<std::uint8_t*, std::int64_t>> all;
    for (const std::int64_t align : {64, 128, 256, 512})
        for (const std::int64_t size : {1, 63, 64, 1000, 70'000, 3'000'000}) {
            std::uint8_t* p = nullptr;
            REQUIRE(pool.Allocate(size, align, &p).ok());
            CHECK(is_at(p, align));
            std::memset(p, 1, static_cast<std::size_t>(size));
            all.push_back({p, size});
            asked += size;
        }
    CHECK(pool.bytes_allocated() == asked);
    CHECK(pool.max_memory() == asked);
    CHECK(pool.num_allocations() == 24);
    for (const auto& [p, size] : all) pool.Free(p, size);
    CHECK(pool.bytes_allocated() == 0);
    CHECK(pool.max_memory() == asked);
    CHECK(pool.total_bytes_allocated() == asked);
    pool.ReleaseUnused();
    CHECK(blocks.stats().live_blocks == 0);
    CHECK(blocks.stats().idle == 0);
}

TEST_CASE("0 bytes are an address, and wrong requests are invalid", "[adapt]") {
    allot::chunk_arena<null_set> blocks{allot::limit{16_MiB}};
    arrow_pool pool{blocks};
    std::uint8_t *a = nullptr, *b = nullptr;
    REQUIRE(pool.Allocate(0, 64, &a).ok());
    REQUIRE(pool.Allocate(0, 512, &b).ok());
    CHECK(a != nullptr);
    CHECK(is_at(a, 512));
    CHECK(a == b);
    REQUIRE(pool.Reallocate(0, 100, 64, &b).ok());
    CHECK(a != b);
    CHECK(pool.bytes_allocated() == 100);
    REQUIRE(pool.Reallocate(100, 0, 64, &b).ok());
    CHECK(a == b);
    CHECK(blocks.stats().live_blocks == 0);
    pool.Free(a, 0, 64);
    CHECK(pool.bytes_allocated() == 0);

    CHECK(pool.Allocate(-1, 64, &a).IsInvalid());
    CHECK(pool.Allocate(100, 48, &a).IsInvalid());
    CHECK(pool.Allocate(100, 0, &a).IsInvalid());
    CHECK(pool.Allocate(100, std::int64_t{1} << 40, &a).IsInvalid());
    CHECK(pool.Reallocate(0, -1, 64, &b).IsInvalid());
    const arrow::Status none = pool.Allocate(std::numeric_limits<std::int64_t>::max(), 512, &a);
    CHECK(none.IsOutOfMemory());
    CHECK_THROWS_AS(pool.rethrow_refusal(none), allot::out_of_memory);
    CHECK(blocks.stats().live_blocks == 0);
}

TEST_CASE("more than any machine has is out of memory", "[adapt]") {
    allot::chunk_arena<raise_set> blocks;
    arrow_pool pool{blocks};
    std::uint8_t* p = nullptr;
    for (const std::int64_t less : {0, 63, 127})
        for (const std::int64_t most : {std::int64_t{1} << 48, std::numeric_limits<std::int64_t>::max()})
            CHECK(pool.Allocate(most - less, &p).IsOutOfMemory());
    CHECK(pool.bytes_allocated() == 0);
}

TEST_CASE("two accounts share the blocks of one arena", "[adapt]") {
    allot::account all_memory{allot::name{"all"}, allot::limit{64_MiB}};
    allot::chunk_arena<allot::use::drill> blocks{all_memory, allot::use::drill::chunk};
    allot::account scan{all_memory, allot::name{"scan"}, allot::limit{8_MiB}}, join{all_memory, allot::name{"join"}};
    allot::charged_blocks of_scan{blocks, scan}, of_join{blocks, join};
    {
        arrow_pool scans{of_scan}, joins{of_join};
        std::uint8_t *a = nullptr, *b = nullptr;
        REQUIRE(scans.Allocate(5'000'000, 512, &a).ok());
        CHECK(is_at(a, 512));
        REQUIRE(joins.Allocate(10'000'000, &b).ok());
        for (std::int64_t i = 0; i != 5'000'000; ++i) a[i] = byte_of(i);
        CHECK(scan.used() >= 5'000'000);
        CHECK(join.used() >= 10'000'000);
        const arrow::Status refused = scans.Reallocate(5'000'000, 20'000'000, 512, &a);
        CHECK(refused.IsOutOfMemory());
        CHECK_THAT(refused.ToString(), ContainsSubstring("scan"));
        CHECK_THROWS_AS(scans.rethrow_refusal(refused), allot::out_of_memory);
        REQUIRE(scans.Reallocate(5'000'000, 4'000'000, 512, &a).ok());
        CHECK(scan.used() == 8_MiB); // no room for another beside it
        scan.set_limit(16_MiB);
        REQUIRE(scans.Reallocate(4'000'000, 1'000'000, 512, &a).ok());
        CHECK(is_at(a, 512));
        CHECK(std::all_of(a, a + 1'000'000, [&](std::uint8_t& c) { return c == byte_of(&c - a); }));
        CHECK(scan.used() < 3'000'000);
        scans.Free(a, 1'000'000, 512);
        joins.Free(b, 10'000'000);
        CHECK(scans.bytes_allocated() == 0);
    }
    CHECK(scan.used() == 0);
    CHECK(join.used() == 0);
}

TEST_CASE("buffers of Arrow keep their bytes when they grow and shrink", "[adapt]") {
    allot::account all_memory{allot::name{"all"}, allot::limit{64_MiB}};
    allot::chunk_arena<blocks_set> blocks{all_memory};
    arrow_pool pool{blocks};
    {
        std::unique_ptr<arrow::ResizableBuffer> buffer = *arrow::AllocateResizableBuffer(0, &pool);
        std::int64_t size = 0;
        for (const std::int64_t to : {10, 5000, 200'000, 199'000, 5'000'000, 300, 400, 0, 77}) {
            REQUIRE(buffer->Resize(to, true).ok());
            for (std::int64_t i = 0; i < std::min(size, to); ++i)
                if (buffer->data()[i] != byte_of(i)) FAIL(i << " of " << to);
            for (std::int64_t i = 0; i < to; ++i) buffer->mutable_data()[i] = byte_of(i);
            size = to;
        }
        CHECK(blocks.stats().live_blocks == 1);
    }
    CHECK(pool.bytes_allocated() == 0);
    CHECK(blocks.stats().live_blocks == 0);
}

TEMPLATE_TEST_CASE("a refusal is a status, and is thrown on demand", "[adapt]", raise_set, null_set) {
    allot::chunk_arena<TestType> blocks{allot::limit{1_MiB}, allot::name{"files"}};
    arrow_pool pool{blocks};
    std::uint8_t* p = nullptr;
    REQUIRE(pool.Allocate(400'000, 64, &p).ok());
    std::memset(p, 9, 400'000);
    const auto before = blocks.stats();
    std::uint8_t* q = nullptr;
    const arrow::Status why = pool.Allocate(2_MiB, 64, &q);
    CHECK(why.IsOutOfMemory());
    CHECK_THAT(why.message(), ContainsSubstring("over the limit"));
    CHECK_THAT(why.message(), ContainsSubstring("2097152 bytes"));
    const arrow::Status more = pool.Reallocate(400'000, 3'000'000, 64, &p);
    CHECK(more.IsOutOfMemory());
    CHECK(p[399'999] == 9);
    CHECK(pool.bytes_allocated() == 400'000);
    CHECK(blocks.stats().live == before.live);
    CHECK_THROWS_WITH(pool.rethrow_refusal(more), ContainsSubstring("2.86 MiB"));
    CHECK_THROWS_WITH(pool.rethrow_refusal(why), ContainsSubstring("2 MiB")); // each its own, in any order
    CHECK_NOTHROW(pool.rethrow_refusal(pool.Allocate(-5, &q)));               // no refusal
    CHECK_NOTHROW(pool.rethrow_refusal(arrow::Status::OK()));
    CHECK_NOTHROW(pool.rethrow_verdict());
    CHECK_THROWS_AS(pool.rethrow_refusal(why.WithMessage("reading a file")), allot::out_of_memory);
    pool.Free(p, 400'000);
}

TEST_CASE("a refusal is that of its status on any thread, and outlives the pool", "[adapt]") {
    arrow::Status mine, other;
    {
        allot::account engine{allot::name{"engine"}, allot::limit{1_MiB}};
        allot::chunk_arena<blocks_set> blocks{engine};
        arrow_pool pool{blocks};
        std::uint8_t* p = nullptr;
        mine = pool.Allocate(2_MiB, 64, &p);
        std::jthread{[&] { other = pool.Allocate(3_MiB, 64, &p); }}.join();
        CHECK_THROWS_WITH(pool.rethrow_refusal(other), ContainsSubstring("3 MiB"));
    }
    allot::chunk_arena<null_set> blocks{allot::limit{1_MiB}};
    arrow_pool pool{blocks};
    CHECK_THROWS_WITH(pool.rethrow_refusal(mine), ContainsSubstring("engine"));
}

TEST_CASE("threads share a pool", "[adapt]") {
    allot::chunk_arena<null_set> blocks{allot::limit{2_MiB}};
    arrow_pool pool{blocks};
    std::atomic<int> refused{0}, thrown{0};
    {
        std::vector<std::jthread> threads;
        for (unsigned seed = 1; seed <= 4; ++seed)
            threads.emplace_back([&, next = seed]() mutable {
                std::uint8_t* p = nullptr;
                std::int64_t size = 0;
                if (!pool.Allocate(0, 64, &p).ok()) return;
                for (int i = 0; i != 3000; ++i) {
                    next = next * 1664525 + 1013904223;
                    const std::int64_t to = (next >> 12) % (next % 16 == 0 ? 1'500'000 : 20'000);
                    const arrow::Status good = pool.Reallocate(size, to, 64, &p);
                    if (good.ok()) {
                        size = to;
                        if (size != 0) p[0] = p[size - 1] = 1;
                        continue;
                    }
                    ++refused;
                    try {
                        pool.rethrow_refusal(good);
                    } catch (const allot::out_of_memory&) {
                        ++thrown;
                    }
                }
                pool.Free(p, size, 64);
            });
    }
    CHECK(refused == thrown);
    CHECK(pool.bytes_allocated() == 0);
    CHECK(blocks.stats().live_blocks == 0);
}

TEST_CASE("verdicts of an arbiter pass through Arrow", "[adapt]") {
    allot::oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{2_MiB}, tasks};
    allot::account query{engine, allot::name{"query"}};
    allot::oom::task task{tasks, "query", 0, &query};
    allot::oom::task_thread here{task};
    allot::chunk_arena<allot::use::spark> blocks{query, allot::name{"files"}};
    arrow_pool pool{blocks};

    SECTION("the body sees it as its own") {
        const bool by_status = GENERATE(true, false);
        // An input of 8 units of 512 KiB fits when it is split into parts of 2.
        struct units {
            std::size_t n;
            units pin() const { return *this; }
            std::size_t bytes() const { return 0; }
        };
        std::vector<units> inputs{{8}};
        const auto halve = [](const units& u) { return std::vector<units>{{u.n / 2}, {u.n - u.n / 2}}; };
        const auto read = [&](const units& u) {
            std::uint8_t* p = nullptr;
            const auto size = static_cast<std::int64_t>(u.n * 512_KiB);
            const arrow::Status good = pool.Allocate(size, 64, &p);
            if (!good.ok()) by_status ? pool.rethrow_refusal(good) : pool.rethrow_verdict();
            if (!good.ok()) throw std::runtime_error("neither a refusal nor a verdict");
            pool.Free(p, size);
            return u.n;
        };
        std::size_t sum = 0;
        for (const std::size_t n : allot::oom::with_retry(inputs, halve, read)) sum += n;
        CHECK(sum == 8);
        CHECK(tasks.stats().splits >= 1);
    }
    SECTION("outside of a retry scope it is a refusal") {
        std::uint8_t* p = nullptr;
        const arrow::Status refused = pool.Allocate(4_MiB, 64, &p);
        CHECK(refused.IsOutOfMemory());
        CHECK_NOTHROW(pool.rethrow_verdict());
        CHECK_THROWS_AS(pool.rethrow_refusal(refused), allot::out_of_memory);
    }
    CHECK_NOTHROW(pool.rethrow_verdict());
    CHECK(pool.bytes_allocated() == 0);
}
