// A chunk arena's caches and chunks.
#include <support/catch.hpp>
#include <support/in_use.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <sys/resource.h>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace allot::literals;

namespace {

struct runs : allot::policies<allot::fit::runs, allot::oom::null> {};
struct borrowed_caches : allot::with<runs, allot::heap::shared> {};
struct best_fits : allot::policies<allot::fit::best, allot::oom::null> {};
struct buddies : allot::policies<allot::fit::buddy, allot::oom::null> {};
struct threaded : allot::policies<allot::fit::runs, allot::heap::per_thread, allot::oom::null> {};
struct keeping : allot::policies<allot::fit::runs, allot::oom::null, allot::retain::never> {};
struct shared_runs : allot::policies<allot::fit::runs, allot::oom::null, allot::page::of<allot::arena<>>> {};
struct lent : allot::policies<allot::page::borrowed, allot::oom::null> {};
struct shared_rows : allot::policies<allot::oom::null, allot::page::of<allot::arena<>>> {};

constexpr allot::page_bytes small_pages{256_KiB};

} // namespace

TEST_CASE("a block that was given back is the next of its class", "[chunks]") {
    allot::chunk_arena<runs> blocks{allot::limit{64_MiB}};
    const allot::block a = blocks.allocate(5000);
    CHECK(a.bytes == 5120);
    CHECK(blocks.capacity(a.address) == 5120);
    blocks.deallocate(a.address);
    CHECK(blocks.capacity(a.address) == 0);
    const allot::block b = blocks.allocate(4700);
    CHECK(b.address == a.address);
    blocks.deallocate({b.address, 4700});
}

TEST_CASE("what a request will get is known before", "[chunks]") {
    const auto tells = [](auto& blocks) {
        for (std::size_t n = 0; n <= 3_MiB; n = n < 3000 ? n + 1 : n + n / 7)
            for (const std::size_t align :
                 {std::size_t{1}, std::size_t{64}, std::size_t{4096}, 256_KiB, 512_KiB, 2_MiB}) {
                const allot::block b = blocks.try_allocate(n, align);
                if (!b || b.bytes != blocks.capacity_for(n, align)) return false;
                if (reinterpret_cast<std::uintptr_t>(b.address) % align != 0) return false;
                blocks.deallocate(b.address);
            }
        return true;
    };
    allot::chunk_arena<runs> some{allot::limit{64_MiB}, small_pages, allot::chunk_bytes{1_MiB}};
    allot::chunk_arena<buddies> halves{allot::limit{64_MiB}, small_pages, allot::chunk_bytes{1_MiB}};
    allot::chunk_arena<best_fits> small{allot::limit{64_MiB}};
    CHECK(tells(small));
    CHECK(small.arena().page_bytes() == 16_KiB);
    small.trim();
    CHECK(small.used() == 0);
    CHECK(tells(some));
    CHECK(tells(halves));
    CHECK(some.capacity_for(SIZE_MAX) == 0);
    CHECK(some.capacity_for(std::size_t{1} << 60) == 0);
    CHECK(some.capacity_for(100, 48) == 0);
    CHECK(some.capacity_for(100, 512_KiB) == 256_KiB); // a page
    CHECK(some.capacity_for(100, 32_MiB) == 0);
}

TEMPLATE_TEST_CASE("what is around a block that is aligned to more than a page is idle, and goes to others", "[chunks]",
                   best_fits, runs, buddies) {
    allot::chunk_arena<TestType> blocks{allot::limit{64_MiB}, small_pages};
    constexpr std::size_t most = allot::chunk_arena<TestType>::max_align;
    const allot::block a = blocks.allocate(100, most);
    REQUIRE(a);
    CHECK(reinterpret_cast<std::uintptr_t>(a.address) % most == 0);
    CHECK(a.bytes == 256_KiB);
    CHECK(blocks.stats().live == 256_KiB);
    CHECK(blocks.used() == 256_KiB + blocks.stats().idle);
    CHECK(blocks.used() <= most);
    const allot::block all = blocks.allocate(63_MiB);
    CHECK(all);
    for (const allot::block& b : {a, all}) blocks.deallocate(b.address);
    CHECK(blocks.valid());
}

TEST_CASE("chunks are 4 MiB, less where the limit is small, or as requested", "[chunks]") {
    CHECK(allot::chunk_arena<runs>{allot::limit{1_GiB}}.chunk_bytes() == 4_MiB);
    CHECK(allot::chunk_arena<runs>{allot::limit{64_MiB}, small_pages}.chunk_bytes() == 2_MiB);
    CHECK(allot::chunk_arena<runs>{allot::limit{1_MiB}, small_pages}.chunk_bytes() == 256_KiB); // a page
    CHECK(allot::chunk_arena<runs>{allot::limit{1_GiB}, allot::chunk_bytes{16_MiB}}.chunk_bytes() == 16_MiB);
    CHECK(allot::chunk_arena<runs>{allot::limit{1_GiB}, allot::chunk_bytes{24_MiB}}.chunk_bytes() == 16_MiB);
    CHECK(allot::chunk_arena<runs>{allot::limit{1_GiB}, allot::chunk_bytes{1_GiB}}.chunk_bytes() == 64_MiB);
}

TEST_CASE("chunks are a small part of an arena that is smaller than the limit", "[chunks]") {
    const auto memory = std::make_unique<std::byte[]>(8_MiB + 64_KiB);
    const std::span<std::byte> lent_bytes{memory.get(), 8_MiB + 64_KiB};
    CHECK(allot::chunk_arena<lent>{lent_bytes}.chunk_bytes() == 256_KiB);
    CHECK(allot::chunk_arena<lent>{lent_bytes, allot::limit{4_MiB}}.chunk_bytes() == 128_KiB);
    CHECK(allot::chunk_arena<runs>{allot::reserve_bytes{32_MiB}}.chunk_bytes() == 1_MiB);
    allot::arena<> all{allot::limit{64_MiB}};
    CHECK(allot::chunk_arena<shared_runs>{all}.chunk_bytes() == 2_MiB);
    CHECK(allot::chunk_arena<shared_runs>{all, allot::limit{32_MiB}}.chunk_bytes() == 1_MiB);
}

TEST_CASE("lent bytes of which half are live serve every request", "[chunks]") {
    const auto memory = std::make_unique<std::byte[]>(4_MiB);
    allot::chunk_arena<lent> blocks{std::span<std::byte>{memory.get(), 4_MiB}};
    std::mt19937 random{5};
    std::deque<std::pair<void*, std::size_t>> held; // freed in the order of their making
    std::size_t live = 0, refused = 0;
    for (int i = 0; i != 20'000; ++i) {
        const std::size_t bytes = 16 + random() % (random() % 50 == 0 ? 200'000 : 2'000);
        for (; live + bytes > 2_MiB; held.pop_front()) {
            live -= held.front().second;
            blocks.deallocate(held.front().first);
        }
        if (void* const p = blocks.allocate(bytes).address; p != nullptr) {
            live += bytes;
            held.emplace_back(p, bytes);
        } else ++refused;
    }
    CHECK(refused == 0);
    for (const auto& [p, bytes] : held) blocks.deallocate({p, bytes});
    CHECK(blocks.valid());
}

TEMPLATE_TEST_CASE("an arena ends at the cost of what was used, not of its address space", "[chunks]", best_fits, runs,
                   buddies) {
    const auto faults = [] {
        rusage now{};
        getrusage(RUSAGE_SELF, &now);
        return now.ru_minflt;
    };
    std::optional<allot::chunk_arena<TestType>> blocks;
    blocks.emplace(allot::reserve_bytes{128_GiB}, allot::page_bytes{64_KiB},
                   allot::leak_sink{[](void*, std::string_view) noexcept {}});
    for (const std::size_t bytes : {1_MiB, 100_KiB, std::size_t{100}}) // kept, or free in chunks
        blocks->deallocate(blocks->allocate(bytes).address);
    CHECK(blocks->allocate(10_MiB)); // left
    const auto before = faults();
    blocks.reset();
    CHECK(faults() - before < 500); // 2,000 to look at a word of each page
}

TEST_CASE("a cache holds no more than half of a chunk", "[chunks]") {
    allot::chunk_arena<borrowed_caches> blocks{allot::limit{256_MiB}};
    std::mt19937 random{3};
    for (int round = 0; round != 50; ++round) {
        std::vector<void*> all;
        for (int i = 0; i != 100; ++i)
            all.push_back(blocks.allocate(64 + random() % (std::size_t{1} << random() % 21)).address);
        for (void* const p : all) blocks.deallocate(p);
        REQUIRE(blocks.stats().cached <= blocks.chunk_bytes() / 2); // one thread, one of the arena's caches
        REQUIRE(blocks.stats().live == 0);
    }
    CHECK(blocks.valid());
}

TEST_CASE("the last large block is kept until memory is short", "[chunks]") {
    allot::chunk_arena<runs> blocks{allot::limit{64_MiB}, allot::page_bytes{1_MiB}};
    const auto live_after = [&](std::size_t bytes) {
        blocks.deallocate(blocks.allocate(bytes).address);
        return blocks.stats();
    };
    const std::size_t quarter = blocks.chunk_bytes() / 4;
    CHECK(live_after(quarter).cached == quarter);
    CHECK(live_after(quarter / 2).cached == quarter / 2); // instead
    CHECK(live_after(2 * quarter).cached == quarter / 2); // too large
    CHECK(blocks.stats().live_blocks == 0);
    const allot::block again = blocks.allocate(quarter / 2);
    CHECK(blocks.stats().cached == 0);
    const allot::block small = blocks.allocate(quarter / 2); // not the same one
    CHECK(small.address != again.address);
    blocks.deallocate(again.address);
    blocks.deallocate(small.address);
    CHECK(blocks.stats().cached == quarter / 2);
    const allot::block all = blocks.allocate(64_MiB); // nothing else may stay
    CHECK(all);
    blocks.deallocate(all.address);
    CHECK(blocks.stats().cached == 0);
    CHECK(blocks.valid());
}

TEST_CASE("blocks of whole pages are kept, half of a chunk of them, until memory is short", "[chunks]") {
    allot::chunk_arena<best_fits> blocks{allot::limit{64_MiB}, allot::page_bytes{64_KiB}, allot::chunk_bytes{4_MiB}};
    const allot::block a = blocks.allocate(1_MiB), b = blocks.allocate(1_MiB + 1), c = blocks.allocate(1_MiB);
    blocks.deallocate(a.address);
    CHECK(blocks.stats().cached == 1_MiB);
    CHECK(blocks.stats().live_blocks == 2);
    CHECK(blocks.stats().large == 2_MiB + 64_KiB);
    blocks.deallocate(b.address); // 2 MiB and a page: a is given up for it
    CHECK(blocks.stats().cached == 1_MiB + 64_KiB);
    CHECK(support::in_use(blocks) == 2_MiB + 64_KiB);
    CHECK(blocks.allocate(1_MiB + 64_KiB).address == b.address); // of as many pages
    CHECK(blocks.stats().cached == 0);
    blocks.deallocate(b.address);
    const allot::block d = blocks.allocate(1_MiB);
    CHECK(d.address != b.address);
    CHECK(support::in_use(blocks) == 3_MiB + 64_KiB);
    const allot::block all = blocks.allocate(62_MiB); // nothing else may stay
    CHECK(all);
    blocks.deallocate(all.address); // too large
    CHECK(blocks.stats().cached == 0);
    CHECK(support::in_use(blocks) == 2_MiB);
    blocks.deallocate(c.address);
    CHECK(blocks.release_empty_pages() == 1_MiB);
    CHECK(support::in_use(blocks) == 1_MiB);
    blocks.deallocate(d.address);
    CHECK(blocks.valid());
}

TEST_CASE("a block of whole pages grows into one that is kept", "[chunks]") {
    allot::chunk_arena<best_fits> blocks{allot::limit{64_MiB}, allot::page_bytes{64_KiB}, allot::chunk_bytes{4_MiB}};
    const allot::block b = blocks.allocate(1_MiB), a = blocks.allocate(1_MiB); // from the arena's end down
    REQUIRE(static_cast<std::byte*>(b.address) == static_cast<std::byte*>(a.address) + 1_MiB);
    blocks.deallocate(b.address);
    REQUIRE(blocks.stats().cached == 1_MiB);
    CHECK(blocks.resize(a.address, 2_MiB).bytes == 2_MiB);
    CHECK(blocks.stats().cached == 0);
    CHECK(blocks.stats().charged == 2_MiB);
    blocks.deallocate(a.address);
    CHECK(blocks.valid());
}

TEST_CASE("a block of a page keeps its page, not its chunk", "[chunks]") {
    allot::chunk_arena<runs> blocks{allot::limit{64_MiB}, small_pages};
    std::vector<void*> all;
    for (int i = 0; i != 100; ++i) all.push_back(blocks.allocate(100'000).address);
    CHECK(blocks.stats().charged >= 10_MiB);
    void* const last = all.back();
    all.pop_back();
    for (void* const p : all) blocks.deallocate(p);
    blocks.trim();
    CHECK(blocks.stats().charged <= 512_KiB); // two pages where it lies across their edge
    CHECK(blocks.stats().live_blocks == 1);
    blocks.deallocate(last);
    blocks.trim();
    CHECK(blocks.stats().charged == 0);
}

TEST_CASE("under buddy a chunk goes whole", "[chunks]") {
    allot::chunk_arena<buddies> blocks{allot::limit{64_MiB}, small_pages};
    std::vector<void*> all;
    for (int i = 0; i != 64; ++i) all.push_back(blocks.allocate(128_KiB).address);
    const std::size_t full = blocks.stats().charged;
    CHECK(full == 8_MiB);
    void* const one = all[0];
    for (std::size_t i = 1; i != all.size(); ++i) blocks.deallocate(all[i]);
    blocks.trim();
    CHECK(blocks.stats().charged == blocks.chunk_bytes());
    blocks.deallocate(one);
    blocks.trim();
    CHECK(blocks.stats().charged == 0);
}

TEST_CASE("what is free beyond a chunk goes back by itself, and never where the set says so", "[chunks]") {
    const auto after = [](auto& blocks) {
        std::vector<void*> all;
        for (int i = 0; i != 200; ++i) all.push_back(blocks.allocate(200'000).address);
        for (void* const p : all) blocks.deallocate(p);
        for (int i = 0; i != 3; ++i)
            all[static_cast<std::size_t>(i)] =
                blocks.allocate(30'000 + 10'000 * static_cast<std::size_t>(i)).address; // looks into the chunks
        for (int i = 0; i != 3; ++i) blocks.deallocate(all[static_cast<std::size_t>(i)]);
        return support::in_use(blocks);
    };
    allot::chunk_arena<runs> blocks{allot::limit{64_MiB}, small_pages};
    CHECK(after(blocks) <= 2 * blocks.chunk_bytes());
    allot::chunk_arena<keeping> kept{allot::limit{64_MiB}, small_pages};
    CHECK(after(kept) > 40_MiB);
    const allot::block large = kept.allocate(40_MiB); // until it is needed: of pages that were used
    CHECK(large);
    kept.deallocate(large.address);
}

TEST_CASE("an arena that holds little takes little", "[chunks]") {
    allot::chunk_arena<best_fits> blocks{allot::name{"small"}};
    allot::chunk_arena<runs> others{allot::name{"small"}};
    std::vector<void*> all{blocks.allocate(100).address};
    CHECK(blocks.used() == 16_KiB);
    others.deallocate(others.allocate(100).address);
    CHECK(others.used() == 64_KiB);
    for (int i = 0; i != 2000; ++i) all.push_back(blocks.allocate(1000).address);
    CHECK(blocks.used() <= 2'400'000);
    for (const std::size_t n : {64_KiB + 64, 1_MiB + 64, 3_MiB + 64}) { // whole pages
        const std::size_t before = blocks.used();
        all.push_back(blocks.allocate(n).address);
        CHECK(blocks.used() == before + n - 64 + 16_KiB);
        blocks.deallocate(all.back());
        blocks.trim();
        CHECK(blocks.used() <= before);
        all.pop_back();
    }
    CHECK(blocks.valid());
    for (void* const p : all) blocks.deallocate(p);
    blocks.trim();
    CHECK(blocks.used() == 0);
}

TEST_CASE("blocks resize in place", "[chunks]") {
    allot::chunk_arena<runs> blocks{allot::limit{64_MiB}, small_pages};
    blocks.deallocate(blocks.allocate(1_MiB).address); // free after it
    const allot::block a = blocks.allocate(100'000);
    const allot::block more = blocks.resize(a.address, 300'000);
    REQUIRE(more);
    CHECK(more.address == a.address);
    CHECK(more.bytes == 327'680);
    CHECK(blocks.capacity(a.address) == 327'680);
    const allot::block fewer = blocks.resize(a.address, 1);
    CHECK(fewer.address == a.address);
    CHECK(fewer.bytes >= 1);
    CHECK(fewer.bytes < 100'000);
    CHECK_FALSE(blocks.resize(a.address, 3_MiB)); // that is whole pages
    CHECK(blocks.stats().live == fewer.bytes);
    const allot::block slot = blocks.allocate(1000);
    CHECK(blocks.resize(slot.address, 1024).bytes == 1024);
    CHECK_FALSE(blocks.resize(slot.address, 1025));
    CHECK(blocks.resize(slot.address, 10).bytes == 1024); // a slot has one size
    const allot::block large = blocks.allocate(10_MiB);
    CHECK(blocks.resize(large.address, 5_MiB).bytes == 5_MiB);
    CHECK(blocks.stats().large == 5_MiB);
    CHECK(blocks.resize(large.address, 6_MiB).bytes == 6_MiB);
    CHECK(blocks.valid());
    for (void* const p : {a.address, slot.address, large.address}) blocks.deallocate(p);
    CHECK(blocks.stats().live == 0);
    CHECK(blocks.valid());
}

TEMPLATE_TEST_CASE("blocks that grow side by side get room where they must move", "[chunks]", best_fits, runs) {
    for (const std::size_t begin : {64_KiB, 2_MiB}) { // of a class, and of whole pages
        allot::chunk_arena<TestType> blocks{allot::limit{256_MiB}, allot::page_bytes{64_KiB},
                                            allot::chunk_bytes{1_MiB}};
        allot::block all[3];
        for (allot::block& b : all) b = blocks.allocate(begin);
        std::size_t copied = 0, moves = 0;
        for (std::size_t n = begin; n <= 16_MiB; n += 64_KiB)
            for (allot::block& b : all) {
                if (n <= b.bytes) continue;
                allot::block now = blocks.resize(b.address, n);
                if (!now) {
                    REQUIRE((now = blocks.allocate(n)));
                    copied += b.bytes;
                    ++moves;
                    blocks.deallocate(b.address);
                }
                b = now;
            }
        CHECK(copied <= 3 * 16_MiB);
        CHECK(moves < 100);
        CHECK(blocks.stats().live == 3 * 16_MiB);
        const allot::block most = blocks.allocate(200_MiB); // their room is nobody else's loss
        CHECK(most);
        for (const allot::block& b : all) blocks.deallocate(b.address);
        blocks.deallocate(most.address);
        CHECK(blocks.valid());
    }
}

TEST_CASE("without a limit, blocks that double use the pages of those before", "[chunks]") {
    allot::chunk_arena<best_fits> blocks{allot::reserve_bytes{16_GiB}};
    std::vector<allot::block> all;
    std::size_t live = 0, most = 0;
    for (unsigned i = 0; i != 100; ++i) {
        allot::block b = blocks.allocate(512_KiB);
        while (b.bytes < (4 + i * 7 % 28) * 1_MiB) {
            allot::block now = blocks.resize(b.address, 2 * b.bytes);
            if (!now) now = blocks.allocate(2 * b.bytes), blocks.deallocate(b.address);
            b = now;
        }
        live += b.bytes;
        most = std::max(most, live);
        all.push_back(b);
        if (all.size() <= 10) continue;
        std::swap(all[i * 5 % all.size()], all.back());
        live -= all.back().bytes;
        blocks.deallocate(all.back().address);
        all.pop_back();
    }
    CHECK(blocks.peak() <= 3 * most); // of this load 2.2; 4.8 where each that doubles gets room
    for (const allot::block& b : all) blocks.deallocate(b.address);
}

TEMPLATE_TEST_CASE("a block is cut where that frees a quarter of it, and 1 KiB", "[chunks]", best_fits, buddies) {
    allot::chunk_arena<TestType> blocks{allot::limit{64_MiB}, small_pages};
    std::vector<void*> all;
    for (int i = 0; i != 1000; ++i) all.push_back(blocks.allocate(256).address);
    const allot::chunk_stats before = blocks.stats();
    for (void* const p : all) CHECK(blocks.resize(p, 100).bytes == 256);
    CHECK(blocks.stats().live == before.live);
    CHECK(blocks.stats().metadata == before.metadata);
    for (void* const p : all) blocks.deallocate({p, 256});
    const allot::block large = blocks.allocate(64_KiB);
    CHECK(blocks.resize(large.address, 60'000).bytes == large.bytes);
    CHECK(blocks.resize(large.address, 30'000).bytes < 33'000);
    const allot::block small = blocks.allocate(2_KiB);
    CHECK(blocks.resize(small.address, 1_KiB).bytes == 1_KiB);
    for (const allot::block& b : {large, small}) blocks.deallocate(b.address);
    CHECK(blocks.valid());
}

TEMPLATE_TEST_CASE("a large block that shrinks is whole pages still, and may be given back with its bytes", "[chunks]",
                   runs, best_fits) {
    allot::chunk_arena<TestType> blocks{allot::limit{64_MiB}, small_pages, allot::chunk_bytes{4_MiB}};
    const std::size_t least = std::is_same_v<TestType, runs> ? 4_MiB + 256_KiB : 1_MiB; // larger than any class
    for (const std::size_t to : {std::size_t{1}, 1_MiB, 4_MiB}) {
        const allot::block b = blocks.allocate(10_MiB), less = blocks.resize(b.address, to);
        REQUIRE(less.address == b.address);
        CHECK(less.bytes == std::max(to, least));
        CHECK(support::in_use(blocks) == less.bytes);
        blocks.deallocate(less);
        CHECK(support::in_use(blocks) == blocks.stats().cached);
        blocks.trim();
        CHECK(blocks.stats().charged == 0);
        CHECK(blocks.valid());
    }
}

TEST_CASE("a block that is no half of a chunk is found where no half is left", "[chunks]") {
    const auto fits = [](auto& blocks) {
        const allot::block most = blocks.allocate(5_MiB), rest = blocks.allocate(2560_KiB);
        CHECK(most);
        CHECK(rest);
        blocks.deallocate(most.address);
        blocks.deallocate(rest.address);
    };
    allot::chunk_arena<runs> a{allot::limit{8_MiB}, small_pages, allot::chunk_bytes{4_MiB}};
    allot::chunk_arena<best_fits> b{allot::limit{8_MiB}, small_pages, allot::chunk_bytes{4_MiB}};
    fits(a);
    fits(b);
}

TEST_CASE("a large block grows no further than the limit", "[chunks]") {
    allot::chunk_arena<runs> blocks{allot::limit{8_MiB}, small_pages};
    const allot::block a = blocks.allocate(6_MiB);
    REQUIRE(blocks.resize(a.address, 1_MiB).bytes == 1_MiB);
    const allot::block b = blocks.allocate(6_MiB); // elsewhere: what is behind a is smaller
    REQUIRE(b);
    CHECK_FALSE(blocks.resize(a.address, 6_MiB));
    CHECK(blocks.capacity(a.address) == 1_MiB);
    CHECK(blocks.resize(a.address, 2_MiB));
    CHECK(blocks.stats().charged == 8_MiB);
    CHECK(blocks.used() == 8_MiB);
    CHECK(blocks.valid());
    blocks.deallocate(a.address);
    blocks.deallocate(b.address);
}

TEST_CASE("an idle thread's blocks come back without its help, an ended one's at its end", "[chunks]") {
    allot::chunk_arena<threaded> blocks{allot::limit{64_MiB}, small_pages};
    std::atomic<int> step{0};
    std::thread idle{[&] {
        std::vector<void*> all;
        for (std::size_t i = 0; i != 100; ++i) all.push_back(blocks.allocate(500 + i % 20 * 500).address);
        for (void* const p : all) blocks.deallocate(p);
        step = 1;
        step.notify_all();
        step.wait(1); // for as long as it likes
        for (std::size_t i = 0; i != 100; ++i) all[i] = blocks.allocate(500 + i % 20 * 500).address; // and works on
        for (void* const p : all) blocks.deallocate(p);
    }};
    step.wait(0);
    CHECK(blocks.stats().cached > 50'000);
    CHECK(blocks.trim() != 0);
    CHECK(blocks.stats().cached == 0);
    CHECK(blocks.stats().charged == 0);
    step = 2;
    step.notify_all();
    idle.join();
    CHECK(blocks.stats().live == 0);
    CHECK(blocks.stats().cached <= blocks.chunk_bytes() / 4); // what its first blocks left in the arena's own
    CHECK(blocks.stats().allocations == 200);
    CHECK(blocks.valid());
}

TEST_CASE("what a thread keeps is not what another's request fails for", "[chunks]") {
    allot::chunk_arena<threaded> blocks{allot::limit{8_MiB}, small_pages};
    std::atomic<int> step{0};
    std::thread idle{[&] {
        std::vector<void*> all;
        for (int i = 0; i != 300; ++i)
            all.push_back(blocks.allocate(256 + 64 * static_cast<std::size_t>(i % 10)).address);
        for (void* const p : all) blocks.deallocate(p);
        step = 1;
        step.notify_all();
        step.wait(1);
    }};
    step.wait(0);
    REQUIRE(blocks.stats().cached != 0);
    const allot::block all = blocks.allocate(8_MiB);
    CHECK(all);
    blocks.deallocate(all.address);
    step = 2;
    step.notify_all();
    idle.join();
}

TEST_CASE("chunks and rows of one arena give way to each other", "[chunks]") {
    allot::arena<> pages{allot::limit{32_MiB}, small_pages};
    allot::chunk_arena<shared_runs> blocks{pages};
    allot::row_manager<shared_rows> rows{pages};
    std::vector<void*> all;
    while (const allot::block b = blocks.allocate(100'000)) all.push_back(b.address);
    CHECK(rows.allocate(1_MiB) == nullptr);
    for (void* const p : all) blocks.deallocate(p);
    void* const row = rows.allocate(16_MiB); // the arena asks the chunk arena
    CHECK(row != nullptr);
    CHECK_FALSE(blocks.allocate(20_MiB));
    rows.release(row);
    const allot::block large = blocks.allocate(20_MiB);
    CHECK(large);
    blocks.deallocate(large.address);
}

TEST_CASE("random requests fill nine tenths of an arena before the first is refused", "[chunks]") {
    const auto fill = [](auto& blocks, unsigned seed, bool by_doubling) {
        std::mt19937_64 random{seed};
        std::size_t asked = 0;
        std::vector<void*> all;
        for (;;) {
            const std::size_t n = by_doubling
                                      ? std::size_t{256} + random() % ((std::size_t{256} << random() % 13) - 255)
                                      : 256 + random() % (1_MiB - 255);
            const allot::block b = blocks.allocate(n);
            if (!b) break;
            asked += n;
            all.push_back(b.address);
        }
        const auto f = blocks.stats();
        const double live = static_cast<double>(f.live) / static_cast<double>(blocks.limit());
        for (void* const p : all) blocks.deallocate(p);
        return std::pair{live, static_cast<double>(asked) / static_cast<double>(blocks.limit())};
    };
    for (unsigned seed = 1; seed != 6; ++seed) {
        allot::chunk_arena<runs> one{allot::limit{256_MiB}}, other{allot::limit{256_MiB}};
        const auto even = fill(one, seed, false), doublings = fill(other, seed, true);
        INFO("seed " << seed << ": in blocks " << even.first << ", asked " << even.second << "; by doublings "
                     << doublings.first << ", " << doublings.second);
        CHECK(even.first >= 0.98);
        CHECK(doublings.first >= 0.98);
        CHECK(even.second >= 0.9); // of what was asked for
        CHECK(doublings.second >= 0.9);
    }
}
