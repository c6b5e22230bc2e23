// Sources of bytes that record: each face works over them, and the recording is what the program asked for.
#include <support/catch.hpp>

#include <allot/adapt/pmr.hpp>
#include <allot/adapt/recorded.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/buffer/charged_blocks.hpp>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/use/containers.hpp>
#include <allot/watch/recording_reader.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory_resource>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::adapt::recorded;

namespace {

struct pool_blocks : allot::policies<allot::ledger::pool> {};

struct recorded_text {
    std::string all;
    allot::recording record{{[](void* self, std::string_view piece) noexcept {
                                 static_cast<recorded_text*>(self)->all += piece;
                                 return 0;
                             },
                             this},
                            allot::recording_format::text};

    // The operations, without thread 0 of stream 0, and the end without its checksum.
    std::string lines() {
        CHECK(record.close() == 0);
        std::istringstream from{all};
        std::string text;
        for (std::string line; std::getline(from, line);) {
            if (line[0] == '#') continue;
            if (line.starts_with("end ")) line.resize(line.rfind(' '));
            text += line.substr(0, line.ends_with(" 0 0") ? line.size() - 4 : line.size()) + '\n';
        }
        return text;
    }
};

// Memory whose resize always moves. While an address is free, another thread gets it.
struct shared_memory {
    allot::recording& record;
    std::byte memory[128];
    std::uint64_t recorded_before = 0;

    void free(const void* p) {
        recorded_before = record.operations();
        record.allocated(p, 7, 8);
        record.deallocating(p);
    }
    void* moved(const void* p) {
        free(p);
        return memory + 64;
    }
};
struct blocks_of_shared : shared_memory {
    static constexpr std::size_t unit = 64, max_align = 64;
    allot::block allocate(std::size_t, std::size_t) { return {memory, 64}; }
    allot::block try_allocate(std::size_t, std::size_t, allot::charge_status*) { return {memory, 64}; }
    void deallocate(const void* p) { free(p); }
    void deallocate(const void* p, std::size_t, std::size_t) { free(p); }
    allot::block resize(void* p, std::size_t) { return {moved(p), 64}; }
};
struct rows_of_shared : shared_memory {
    void* allocate(std::size_t, const allot::row_type&) { return memory; }
    void* try_allocate(std::size_t, const allot::row_type&, allot::charge_status*) { return memory; }
    void release(const void* p) { free(p); }
    void* try_resize(void* p, std::size_t, std::size_t, allot::charge_status*) { return moved(p); }
};

} // namespace

TEST_CASE("a recorded row manager writes what containers ask for", "[adapt]") {
    allot::row_manager<allot::use::containers> rows;
    recorded_text to;
    const recorded source{rows, to.record};
    void* missing = nullptr;
    {
        allot::adapt::memory_resource memory{source};
        std::pmr::vector<char> bytes(100, 'x', &memory);
        bytes.resize(150);
        missing = memory.allocate(10, 64); // is live at the end
        std::vector<int, allot::adapt::std_allocator<int, const recorded<decltype(rows)>>> numbers(
            10, allot::adapt::std_allocator<int, const recorded<decltype(rows)>>{source});
        CHECK(rows.live_rows() == 3);
    }
    CHECK(to.lines() == "a 1 100 8\na 2 200 8\nd 1\na 3 10 64\na 4 40 8\nd 4\nd 2\nend 7\n");
    CHECK(rows.live_rows() == 1);
    source.release(missing); // after the end: not recorded
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("calls as malloc() and realloc() are recorded, refusals are not", "[adapt]") {
    allot::row_manager<allot::use::containers> rows{allot::limit{1_MiB}};
    recorded_text to;
    recorded source{rows, to.record};
    void* p = allot::adapt::try_allocate(source, 100, 8);
    p = allot::adapt::try_resize(source, p, 100, 1000, 8); // moves
    REQUIRE(p != nullptr);
    CHECK(allot::adapt::try_resize(source, p, 100, 2_MiB, 8) == nullptr);
    CHECK(allot::adapt::try_allocate(source, 2_MiB, 8) == nullptr);
    CHECK_THROWS_AS(source.resize(p, 1000, 2_MiB), allot::out_of_memory);
    allot::adapt::release(source, p);
    void* const zeros = allot::adapt::try_allocate_zeroed(source, 20, 16);
    allot::adapt::deallocate(source, zeros, 20, 16);
    CHECK(to.lines() == "a 1 100 8\nr 1 1000\nd 1\na 2 20 16\nd 2\nend 5\n");
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("a recorded chunk arena writes blocks, of buffers and of accounts too", "[adapt]") {
    allot::account engine{allot::name{"engine"}, allot::limit{64_MiB}};
    allot::account scan{engine, allot::name{"scan"}};
    allot::chunk_arena<pool_blocks> pool{engine};
    recorded_text to;
    recorded blocks{pool, to.record};
    {
        const allot::buffer_memory memory{blocks};
        const allot::buffer b = memory.allocate(scan, 5000);
        CHECK(scan.used() >= 5000); // lent by the pool
    }
    CHECK(scan.used() == 0);
    allot::charged_blocks of_scan{pool, scan};
    recorded charged{of_scan, to.record};
    void* p = allot::adapt::try_allocate(charged, 100'000, 4096);
    p = allot::adapt::try_resize(charged, p, 100'000, 9_MiB, 4096);
    REQUIRE(p != nullptr);
    CHECK(scan.used() >= 9_MiB);
    CHECK(charged.capacity(p) >= 9_MiB);
    allot::adapt::release(charged, p);
    const allot::block z = blocks.try_allocate_zeroed(64);
    blocks.deallocate(z);
    const std::string lines = to.lines();
    CAPTURE(lines);
    CHECK(lines.starts_with("a 1 5000 64\nd 1\na 2 100000 4096\n"));
    CHECK(lines.find(" 9437184") != std::string::npos);
    CHECK(pool.stats().live == 0);
    // The operations themselves, whichever way the block grew.
    std::istringstream from{to.all};
    allot::recording_reader reader{from};
    std::map<std::uint64_t, std::size_t> live;
    for (allot::recorded_operation o; reader.next(o);) {
        if (o.kind == allot::recorded_kind::deallocate) CHECK(live.erase(o.id) == 1);
        else live[o.id] = o.bytes;
    }
    CHECK(reader.error() == "");
    CHECK(live.empty());
}

TEST_CASE("an address is recorded as free before its source may give it to another thread", "[adapt]") {
    recorded_text of_blocks, of_rows;
    blocks_of_shared blocks{{of_blocks.record, {}}};
    const recorded some_blocks{blocks, of_blocks.record};
    void* p = some_blocks.allocate(10).address;
    p = some_blocks.resize(p, 20).address;
    some_blocks.deallocate(p);
    CHECK(blocks.recorded_before == 5); // with its own deallocation
    some_blocks.deallocate(some_blocks.try_allocate(30).address, 30);
    CHECK(of_blocks.lines() == "a 1 10 64\na 2 7 8\nd 2\nr 1 20\nd 1\na 3 7 8\nd 3\n"
                               "a 4 30 64\nd 4\na 5 7 8\nd 5\nend 11\n");
    rows_of_shared rows{{of_rows.record, {}}};
    const recorded some_rows{rows, of_rows.record};
    p = some_rows.allocate(10);
    p = some_rows.try_resize(p, 10, 20);
    some_rows.release(p);
    CHECK(rows.recorded_before == 5);
    CHECK(of_rows.lines() == "a 1 10 8\na 2 7 8\nd 2\nr 1 20\nd 1\na 3 7 8\nd 3\nend 7\n");
}

TEST_CASE("threads that hand rows to each other leave a recording in order", "[adapt]") {
    allot::row_manager<allot::use::containers> rows;
    recorded_text to;
    recorded source{rows, to.record};
    const auto work = [&] {
        for (int i = 0; i != 3'000; ++i) { // addresses go from thread to thread by the caches
            std::vector<void*> some;
            for (int k = 0; k != 8; ++k) some.push_back(source.try_allocate(5'000));
            some[0] = source.try_resize(some[0], 5'000, 30'000);
            for (void* const p : some) source.release(p);
        }
    };
    {
        std::jthread a{work}, b{work}, c{work};
    }
    CHECK(to.record.close() == 0);
    CHECK(rows.live_rows() == 0);
    std::istringstream from{to.all};
    allot::recording_reader reader{from};
    std::map<std::uint64_t, std::size_t> live;
    std::size_t n = 0;
    bool good = true;
    for (allot::recorded_operation o; reader.next(o); ++n) {
        if (o.kind == allot::recorded_kind::allocate) good = good && live.emplace(o.id, o.bytes).second;
        else if (o.kind == allot::recorded_kind::resize) good = good && live.count(o.id) == 1;
        else good = good && live.erase(o.id) == 1;
    }
    CHECK(good);
    CHECK(reader.error() == "");
    CHECK(n == 3U * 3'000 * 17);
    CHECK(live.empty());
}
