// What a chunk arena reports: out of memory, its figures by class, blocks that are left.
#include <support/catch.hpp>
#include <support/json.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/report/chunks.hpp>

#include <string>
#include <vector>

using namespace allot::literals;

namespace {

struct runs : allot::policies<allot::fit::runs, allot::oom::null> {};
struct raising : allot::policies<allot::fit::runs> {};

constexpr allot::page_bytes small_pages{256_KiB};

std::string text_of(auto write) {
    static char page[32 * 1024];
    allot::text_writer out{page};
    write(out);
    CHECK_FALSE(out.is_truncated());
    return page;
}

} // namespace

TEST_CASE("a visitor of the usage may change what it holds, and throw", "[chunks]") {
    allot::chunk_arena<runs> blocks{allot::limit{8_MiB}, small_pages};
    const allot::block small = blocks.try_allocate(100), large = blocks.try_allocate(3000);
    std::size_t most = 0;
    blocks.usage([&most, seen = std::size_t{0}](const allot::class_usage&) mutable { most = ++seen; });
    CHECK(most >= 2);
#if ALLOT_EXCEPTIONS
    CHECK_THROWS_AS(blocks.usage([](const allot::class_usage&) { throw 1; }), int);
#endif
    blocks.deallocate(small);
    blocks.deallocate(large);
    CHECK(blocks.valid());
}

TEST_CASE("out of memory reports who holds it", "[chunks]") {
#if ALLOT_EXCEPTIONS
    allot::chunk_arena<raising> blocks{allot::limit{8_MiB}, small_pages, allot::name{"query"}};
    const allot::block most = blocks.allocate(6_MiB);
    try {
        static_cast<void>(blocks.allocate(4_MiB));
        FAIL("it was not refused");
    } catch (const allot::out_of_memory& error) {
        const std::string line = error.what(), page = error.report();
        CHECK(line.find("raising query: over the limit: query uses 6 MiB of 8 MiB") != std::string::npos);
        CHECK(error.why().outcome == allot::charge_outcome::over_limit);
        CHECK(error.why().requested == 4_MiB);
        CHECK(page.find("live 6 MiB in 1 block (whole pages: 6 MiB)") != std::string::npos);
        CHECK(page.find("tried: the caches of all threads") != std::string::npos);
    }
    blocks.deallocate(most.address);
#endif
}

TEST_CASE("a report has what is live, cached, free and wasted, by class; as JSON, too", "[chunks]") {
    allot::chunk_arena<runs> blocks{allot::limit{64_MiB}, small_pages, allot::name{"query"}};
    const allot::block a = blocks.allocate(900), b = blocks.allocate(900), large = blocks.allocate(5_MiB);
    blocks.deallocate(b.address);
    const auto f = blocks.stats();
    CHECK(f.live == 1024 + 5_MiB);
    CHECK(f.live_blocks == 2);
    CHECK(f.large == 5_MiB);
    CHECK(f.cached == 1024 * 15); // a batch
    CHECK(f.charged == f.live + f.cached + f.free);
    CHECK(f.limit == 64_MiB);
    CHECK(f.peak == f.charged);
    CHECK(f.allocations == 2);
    CHECK(f.requested == 1800);
    CHECK(f.granted == 2048);
    CHECK(f.waste() == 1211); // 12.11 %
    const std::string text = text_of([&](auto& out) { allot::write_report(out, blocks); });
    CHECK(text.find("chunk arena query (set ") != std::string::npos);
    CHECK(text.find("unused within blocks 12.11 %") != std::string::npos);
    CHECK(text.find("    1 KiB: 1 live, 15 cached, 2 allocations\n") != std::string::npos);
    const auto json = support::json::parse(text_of([&](auto& out) { allot::write_report_json(out, blocks); }));
    CHECK(json["chunk_arena"].text == "query");
    CHECK(json["live"].number == static_cast<double>(f.live));
    CHECK(json["largest_free_run"].number == static_cast<double>(f.largest_free_run));
    CHECK(json["waste_percent"].number > 12);
    REQUIRE(json["classes"].items.size() == 1);
    CHECK(json["classes"].items[0]["bytes"].number == 1024);
    CHECK(json["classes"].items[0]["cached"].number == 15);
    blocks.deallocate(a.address);
    blocks.deallocate(large.address);
}

TEST_CASE("blocks that are left are reported at the end", "[chunks]") {
    std::string said;
    {
        allot::chunk_arena<runs> blocks{
            allot::limit{64_MiB}, small_pages, allot::name{"query"},
            allot::leak_sink{
                [](void* to, std::string_view text) noexcept { static_cast<std::string*>(to)->append(text); }, &said}};
        for (int i = 0; i != 3; ++i) static_cast<void>(blocks.allocate(1000));
        static_cast<void>(blocks.allocate(5_MiB));
        blocks.deallocate(blocks.allocate(1000).address);
    }
    CHECK(said.find("runs) ended with 4 blocks not deallocated") != std::string::npos);
    CHECK(said.find("3 of 1 KiB") != std::string::npos);
    CHECK(said.find("whole pages: 5 MiB") != std::string::npos);
}
