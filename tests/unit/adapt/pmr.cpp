// std::pmr over a row manager, a local handle, a chunk arena and an arena.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <support/edge_sizes.hpp>

#include <allot/adapt/pmr.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/use/drill.hpp>

#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::adapt::memory_resource;

namespace {

struct blocks_set : allot::policies<> {};
struct thread_blocks : allot::policies<allot::heap::per_thread, allot::fit::runs> {};
struct quiet_blocks : allot::policies<allot::oom::null> {};

bool is_at(const void* p, std::size_t align) { return reinterpret_cast<std::uintptr_t>(p) % align == 0; }

// Containers that grow, share one resource, and end.
void use(std::pmr::memory_resource& resource) {
    std::pmr::vector<std::uint64_t> numbers(&resource);
    for (std::uint64_t i = 0; i < 10000; ++i) numbers.push_back(i * i);
    std::pmr::vector<std::uint64_t> moved(std::move(numbers), &resource);
    CHECK(moved.size() == 10000);
    CHECK(moved[9999] == 9999u * 9999u);
}
void use_many(std::pmr::memory_resource& resource) {
    std::pmr::unordered_map<int, std::pmr::string> names(&resource);
    for (int i = 0; i < 2000; ++i) names.emplace(i, std::string(static_cast<std::size_t>(i % 90), 'x'));
    for (int i = 0; i < 2000; i += 2) names.erase(i);
    CHECK(names.size() == 1000);
    CHECK(names.at(89).size() == 89);
    CHECK(names.at(89).get_allocator().resource() == &resource);
}

} // namespace

TEMPLATE_TEST_CASE("pmr containers live in a row manager", "[adapt]", sets::plain, sets::packed, sets::uncounted,
                   sets::per_thread, sets::quiet, allot::use::containers) {
    allot::row_manager<TestType> rows{allot::limit{32_MiB}};
    {
        memory_resource resource(rows);
        use(resource);
        use_many(resource);
        CHECK(&resource.source() == &rows);
        CHECK(resource == resource);
        std::pmr::string kept(1000, 'k', &resource);
        CHECK(rows.live_rows() == 1);
        CHECK(rows.used() > 0);
    }
    CHECK(rows.live_rows() == 0);
    rows.trim();
    CHECK(rows.used() == 0);
}

TEMPLATE_TEST_CASE("pmr containers live in a local handle", "[adapt]", sets::plain, sets::packed, sets::uncounted,
                   sets::per_thread, sets::quiet, allot::use::containers) {
    allot::row_manager<TestType> rows{allot::limit{32_MiB}};
    {
        auto local = rows.local();
        memory_resource resource(local);
        use(resource);
        use_many(resource);
        std::pmr::string kept(100, 'k', &resource);
        CHECK(rows.live_rows() == 1);
    }
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("pmr containers live in whole pages of an arena", "[adapt]") {
    allot::arena<> arena{allot::limit{16_MiB}, allot::page_bytes{64_KiB}};
    {
        memory_resource resource(arena);
        use(resource);
        std::pmr::vector<char> one(1, 'x', &resource);
        CHECK(arena.stats().taken == 64_KiB);
        one.resize(64_KiB + 1);
        CHECK(arena.stats().taken == 128_KiB);
    }
    CHECK(arena.stats().taken == 0);
}

TEMPLATE_TEST_CASE("pmr containers live in blocks of a chunk arena", "[adapt]", blocks_set, thread_blocks, quiet_blocks,
                   allot::use::drill) {
    allot::chunk_arena<TestType> blocks{allot::limit{64_MiB}, allot::chunk_bytes{1_MiB}};
    {
        memory_resource resource(blocks);
        use(resource);
        use_many(resource);
        CHECK(&resource.source() == &blocks);
        std::pmr::vector<char> large(3_MiB, 'x', &resource); // of more than a chunk
        CHECK(blocks.capacity(large.data()) >= 3_MiB);
        large.push_back('y');
        CHECK(large[3_MiB - 1] == 'x');
    }
    CHECK(blocks.stats().live == 0);
    CHECK(blocks.valid());
}

namespace {

// A resource of rows and one of blocks, both with nothing allocated in the end.
template <class Blocks> struct rows_and_blocks {
    allot::row_manager<allot::use::containers> rows{allot::limit{256_MiB}};
    allot::chunk_arena<Blocks> blocks{allot::limit{256_MiB}};
    memory_resource<allot::row_manager<allot::use::containers>> of_rows{rows};
    memory_resource<allot::chunk_arena<Blocks>> of_blocks{blocks};
    std::pmr::memory_resource* const resources[2] = {&of_rows, &of_blocks};

    ~rows_and_blocks() {
        CHECK(rows.live_rows() == 0);
        CHECK(blocks.stats().live == 0);
    }
};

} // namespace

TEST_CASE("threads share a pmr resource of a source that threads may share", "[adapt]") {
    rows_and_blocks<thread_blocks> sources;
    for (std::pmr::memory_resource* const resource : sources.resources) {
        std::vector<std::pmr::vector<std::pmr::string>> texts(4, std::pmr::vector<std::pmr::string>(resource));
        const auto in_threads = [&](auto work) {
            std::vector<std::thread> threads;
            for (std::size_t t = 0; t != 4; ++t) threads.emplace_back([&, t] { work(t); });
            for (auto& thread : threads) thread.join();
        };
        in_threads([&](std::size_t t) {
            for (std::size_t i = 0; i != 1000; ++i) texts[t].emplace_back(i % 300, static_cast<char>('a' + t));
        });
        in_threads([&](std::size_t t) { // what one thread allocated another one frees
            auto& mine = texts[(t + 1) % 4];
            for (std::size_t i = 0; i < mine.size(); i += 2) mine[i] = std::pmr::string(100, 'z', resource);
            mine.erase(mine.begin() + 500, mine.end());
        });
        for (std::size_t t = 0; t != 4; ++t) {
            REQUIRE(texts[t].size() == 500);
            CHECK(texts[t][499] == std::pmr::string(199, static_cast<char>('a' + t), resource));
        }
    }
}

namespace {

constexpr std::size_t align_most = 16_MiB;

// `most`: more bytes than the limit, which is larger than twice the largest alignment.
template <class Source> void walk_edges(Source& source, std::size_t most) {
    memory_resource resource(source);
    for (std::size_t align = 1; align <= 2 * align_most; align *= 2)
        for (const std::size_t n :
             {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{1000}, std::size_t{300'000},
              std::size_t{1} << 31, static_cast<std::size_t>(PTRDIFF_MAX) - 1, static_cast<std::size_t>(PTRDIFF_MAX),
              SIZE_MAX - 1, SIZE_MAX}) {
            INFO(n << " bytes aligned to " << align);
            try {
                void* const p = resource.allocate(n, align);
                CHECK(p != nullptr);
                CHECK(is_at(p, align));
                CHECK(align <= align_most);
                CHECK(n < most);
                std::memset(p, 1, n < most ? n : 0);
                resource.deallocate(p, n, align);
            } catch (const std::bad_alloc& e) {
                CHECK((align > align_most || n >= most));
                if (align > align_most && n < most)
                    CHECK_THAT(e.what(), ContainsSubstring("no power of two up to 16 MiB"));
                else CHECK_THAT(e.what(), ContainsSubstring("allot: out of memory: "));
            }
        }
}
// Bytes that are aligned to more than a row or page are one row or run of their source, and their own.
template <class Source> void hold_over_aligned(Source& source) {
    memory_resource resource(source);
    struct held {
        unsigned char* p;
        std::size_t bytes, align;
    };
    std::vector<held> all;
    for (std::size_t align = 8192; align <= 1_MiB; align *= 2)
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, align - 1, align, align + 1}) {
            all.push_back({static_cast<unsigned char*>(resource.allocate(bytes, align)), bytes, align});
            REQUIRE(is_at(all.back().p, align));
            std::memset(all.back().p, static_cast<int>(all.size()), bytes);
        }
    std::size_t wrong = 0;
    for (std::size_t i = 0; i != all.size(); ++i)
        for (std::size_t at = 0; at != all[i].bytes; ++at) wrong += all[i].p[at] != static_cast<unsigned char>(i + 1);
    CHECK(wrong == 0);
    for (const held& h : all) resource.deallocate(h.p, h.bytes, h.align);
}

} // namespace

#if ALLOT_EXCEPTIONS
TEMPLATE_TEST_CASE("a pmr resource of rows gives every alignment up to 16 MiB, also of no bytes", "[adapt]",
                   sets::plain, sets::uncounted, sets::per_thread, sets::quiet, allot::use::containers) {
    allot::row_manager<TestType> rows{allot::limit{64_MiB}};
    walk_edges(rows, 64_MiB);
    hold_over_aligned(rows);
    {
        auto mine = rows.local();
        walk_edges(mine, 64_MiB);
        hold_over_aligned(mine);
    }
    CHECK(rows.live_rows() == 0);
    rows.trim();
    CHECK(rows.used() == 0);
}

TEMPLATE_TEST_CASE("a pmr resource of blocks or pages gives every alignment up to 16 MiB", "[adapt]", blocks_set,
                   quiet_blocks, thread_blocks) {
    allot::chunk_arena<TestType> blocks{allot::limit{64_MiB}, allot::page_bytes{128_KiB}};
    walk_edges(blocks, 64_MiB);
    hold_over_aligned(blocks);
    CHECK(blocks.stats().live == 0);
    allot::arena<> arena{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    walk_edges(arena, 64_MiB);
    hold_over_aligned(arena);
    CHECK(arena.stats().taken == 0);
}

TEST_CASE("rows whose set was forgotten hold over-aligned bytes, and null is ignored", "[adapt]") {
    allot::row_manager<sets::plain> rows{allot::limit{64_MiB}};
    allot::any_rows any{rows};
    hold_over_aligned(any);
    allot::adapt::deallocate(any, nullptr, 100, 8192);
    allot::adapt::deallocate(rows, nullptr, 100, 8192);
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("pools of the standard library live in rows and blocks, whatever alignment they ask for", "[adapt]") {
    rows_and_blocks<blocks_set> sources;
    for (std::pmr::memory_resource* const resource : sources.resources) {
        std::pmr::synchronized_pool_resource pool{{.max_blocks_per_chunk = 0, .largest_required_pool_block = 64_KiB},
                                                  resource};
        std::vector<std::pair<void*, std::size_t>> all;
        for (std::size_t n = 1; n <= 200'000; n += 1 + n / 3) all.push_back({pool.allocate(n), n});
        for (const auto& [p, n] : all) pool.deallocate(p, n);
    }
}

TEST_CASE("pmr containers hold over-aligned types", "[adapt]") {
    struct alignas(128) wide {
        char bytes[128];
    };
    struct alignas(4096) os_page {
        char bytes[4096];
    };
    allot::row_manager<allot::use::containers> rows{allot::limit{32_MiB}};
    memory_resource resource(rows);
    {
        std::pmr::vector<wide> wides(&resource);
        std::pmr::vector<os_page> pages(&resource);
        for (std::size_t i = 0; i != 100; ++i) {
            wides.emplace_back();
            pages.emplace_back();
            REQUIRE(is_at(wides.data(), 128));
            REQUIRE(is_at(pages.data(), 4096));
        }
    }
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("pmr: an alignment that a source cannot have is refused with its limit", "[adapt]") {
    allot::row_manager<sets::plain> rows{allot::limit{2_MiB}};
    memory_resource resource(rows);
    try {
        static_cast<void>(resource.allocate(10, 32_MiB));
        FAIL("it was not refused");
    } catch (const std::bad_alloc& e) {
        CHECK(std::string{e.what()} == "allot: out of memory: 10 bytes refused by the row manager: misused: the "
                                       "alignment is no power of two up to 16 MiB");
    }
}
#endif

#if ALLOT_EXCEPTIONS
TEST_CASE("pmr: what the source refuses is std::bad_alloc, whatever the set's oom policy", "[adapt]") {
    allot::row_manager<sets::plain> raises{allot::limit{2_MiB}};
    allot::row_manager<sets::quiet> null{allot::limit{2_MiB}};
    allot::arena<> arena{allot::limit{2_MiB}, allot::page_bytes{64_KiB}};
    allot::chunk_arena<blocks_set> blocks{allot::limit{2_MiB}};
    allot::chunk_arena<quiet_blocks> null_blocks{allot::limit{2_MiB}};
    auto mine = raises.local();
    memory_resource one(raises);
    memory_resource two(null);
    memory_resource three(arena);
    memory_resource four(blocks);
    memory_resource five(null_blocks);
    memory_resource six(mine);
    for (std::pmr::memory_resource* resource :
         std::initializer_list<std::pmr::memory_resource*>{&one, &two, &three, &four, &five, &six}) {
        CHECK_THROWS_AS(resource->allocate(8_MiB, 8), std::bad_alloc);
        CHECK_THROWS_AS(resource->allocate(std::size_t{1} << 60, 8), std::bad_alloc);
        CHECK_THROWS_AS(resource->allocate(100, std::size_t{1} << 30), std::bad_alloc);
        std::pmr::vector<int> numbers(resource);
        CHECK_THROWS_AS(
            [&] {
                for (;;) numbers.push_back(1);
            }(),
            std::bad_alloc);
        CHECK(numbers.size() > 10000);
    }
}
#endif

TEST_CASE("two pmr resources are equal when their source is the same", "[adapt]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    allot::row_manager<sets::plain> others{allot::limit{8_MiB}};
    memory_resource a(rows), b(rows), c(others);
    CHECK(a == a);
    CHECK(a != c);
#if ALLOT_RTTI
    CHECK(a == b);
    CHECK_FALSE(a == *std::pmr::new_delete_resource());
#endif
}
