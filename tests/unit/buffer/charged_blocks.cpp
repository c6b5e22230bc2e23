// Blocks of a pool that are charged to the accounts which share it: raw pointers, in place resizes, refusals with
// reason.
#include <support/catch.hpp>

#include <allot/adapt/bytes.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/buffer/charged_blocks.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/use/drill.hpp>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

using allot::account;
using allot::charged_blocks;
using allot::credit_step;
using allot::limit;
using allot::name;
using namespace allot::literals;

namespace {

struct counted : allot::policies<allot::fit::runs> {}; // it charges no account

// Pool and root of the accounts, as a user has them.
template <class Set> struct shared_pool {
    account engine{name{"engine"}, limit{64_MiB}};
    allot::chunk_arena<Set> pool = [&] {
        if constexpr (std::is_same_v<Set, counted>)
            return allot::chunk_arena<Set>{limit{64_MiB}, allot::chunk_bytes{4_MiB}};
        else return allot::chunk_arena<Set>{engine, allot::chunk_bytes{4_MiB}};
    }();
    account scan{engine, name{"scan"}, limit{16_MiB}}, join{engine, name{"join"}};
    charged_blocks<allot::chunk_arena<Set>> of_scan{pool, scan}, of_join{pool, join};
};

} // namespace

TEMPLATE_TEST_CASE("each account is charged for its blocks of a pool", "[buffers]", counted, allot::use::drill) {
    shared_pool<TestType> at;
    const allot::block a = at.of_scan.allocate(100'000), b = at.of_join.allocate(5'000'000);
    CHECK(a.bytes >= 100'000);
    CHECK(at.scan.used() == a.bytes);
    CHECK(at.join.used() == b.bytes);
    CHECK(at.of_scan.capacity(a.address) == a.bytes);
    CHECK(at.of_scan.capacity_for(100'000) == a.bytes);
    at.of_scan.deallocate(a.address, 100'000);
    CHECK(at.scan.used() == 0);
    at.of_join.deallocate(b.address);
    at.of_join.deallocate(nullptr);
    CHECK(at.join.used() == 0);
    at.pool.trim();
    CHECK(at.pool.valid());
}

TEMPLATE_TEST_CASE("a refusal of the account says so, and leaves nothing", "[buffers]", counted, allot::use::drill) {
    shared_pool<TestType> at;
    allot::charge_status why;
    const allot::block first = at.of_scan.try_allocate(15_MiB, 64, &why);
    REQUIRE(first);
    CHECK(why.charged());
    CHECK_FALSE(at.of_scan.try_allocate(3_MiB, 64, &why));
    CHECK(std::string(why.name) == "scan");
    CHECK(at.scan.used() == first.bytes);
    CHECK(at.scan.peak() == first.bytes);
    try {
        at.of_scan.allocate(3_MiB);
        FAIL("it must throw");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(std::string(e.what()), ContainsSubstring("a block of 3 MiB for account scan"));
    }
    const allot::block other = at.of_join.try_allocate(3_MiB); // others are not harmed
    CHECK(other);
    CHECK_FALSE(at.of_scan.allocate_for(3_MiB, std::chrono::milliseconds{1}));
    std::thread frees([&] { at.of_scan.deallocate(first.address); });
    const allot::block later = at.of_scan.allocate_for(3_MiB, std::chrono::seconds{20});
    frees.join();
    CHECK(later);
    at.of_scan.deallocate(later.address);
    at.of_join.deallocate(other.address);
    CHECK(at.scan.used() + at.join.used() == 0);
    CHECK(at.pool.stats().live == 0);
}

TEMPLATE_TEST_CASE("a resize charges and refunds the difference", "[buffers]", counted, allot::use::drill) {
    shared_pool<TestType> at;
    allot::block b = at.of_scan.allocate(6_MiB);
    std::memset(b.address, 7, b.bytes);
    for (const std::size_t to : {9_MiB, 5_MiB, 5_MiB + 1, 12_MiB, std::size_t{1}}) {
        const allot::block now = at.of_scan.resize(b.address, to);
        const std::size_t has = at.of_scan.capacity(b.address);
        CHECK(at.scan.used() == has);
        if (!now) continue;
        CHECK(now.address == b.address);
        CHECK(now.bytes == has);
        CHECK(has >= to);
    }
    CHECK(at.scan.used() < 5_MiB); // whole pages still, one more than a chunk at most
    CHECK_FALSE(at.of_scan.resize(b.address, 17_MiB));
    CHECK(at.scan.used() == at.of_scan.capacity(b.address));
    at.of_scan.deallocate(b.address, 1);
    CHECK(at.scan.used() == 0);

    b = at.of_scan.allocate(5000); // of a class
    CHECK(at.of_scan.resize(b.address, 4900).bytes == b.bytes);
    CHECK_FALSE(at.of_scan.resize(b.address, 500));
    CHECK_FALSE(at.of_scan.resize(b.address, 50'000));
    CHECK_FALSE(at.of_scan.resize(b.address, SIZE_MAX));
    CHECK(at.scan.used() == b.bytes);
    at.of_scan.deallocate(b.address, 4900);
    CHECK(at.scan.used() == 0);
    at.pool.trim();
    CHECK(at.pool.valid());
    CHECK(at.pool.stats().live == 0);
}

TEST_CASE("sizes and alignments at the edges of charged blocks", "[buffers]") {
    shared_pool<allot::use::drill> at;
    for (const std::size_t align : {1_MiB, std::size_t{4096}, std::size_t{512}, std::size_t{1}}) {
        const allot::block b = at.of_join.allocate(0, align);
        CHECK(reinterpret_cast<std::uintptr_t>(b.address) % align == 0);
        CHECK(at.join.used() == b.bytes);
        at.of_join.deallocate(b.address, 0, align);
    }
    for (const std::size_t bytes : {std::size_t{1} << 31, std::size_t(PTRDIFF_MAX)}) {
        allot::charge_status why;
        CHECK_FALSE(at.of_join.try_allocate(bytes, 64, &why));
        CHECK_FALSE(why.charged());
        CHECK_THROWS_AS(at.of_join.allocate(bytes), allot::out_of_memory);
    }
    if (ALLOT_CHECKED == 0) { // checked builds report them as misuse
        CHECK_THROWS_AS(at.of_join.allocate(SIZE_MAX), allot::out_of_memory);
        CHECK_THROWS_AS(at.of_join.allocate(64, 24), allot::out_of_memory);
    }
    CHECK(at.join.used() == 0);
}

TEMPLATE_TEST_CASE("threads of several accounts share a pool, and the books agree", "[buffers]", counted,
                   allot::use::drill) {
    shared_pool<TestType> at;
    std::vector<std::thread> team;
    for (unsigned t = 0; t != 4; ++t)
        team.emplace_back([&, t] {
            auto& mine = t % 2 == 0 ? at.of_scan : at.of_join;
            std::mt19937 random(t);
            struct held {
                void* p;
                std::size_t bytes;
            };
            std::vector<held> all;
            for (unsigned i = 0; i != 3000; ++i) {
                const std::size_t bytes = std::size_t{1} << random() % 22;
                if (all.size() < 20 && random() % 2 == 0) {
                    if (void* const p = allot::adapt::try_allocate(mine, bytes, 16)) all.push_back({p, bytes});
                } else if (!all.empty()) {
                    held& h = all[random() % all.size()];
                    if (void* const p = allot::adapt::try_resize(mine, h.p, std::min(bytes, h.bytes), bytes, 16))
                        h = {p, bytes};
                    std::swap(h, all.back());
                    if (random() % 2 == 0) mine.deallocate(all.back().p, all.back().bytes), all.pop_back();
                }
            }
            for (const held& h : all) allot::adapt::release(mine, h.p);
        });
    for (std::thread& t : team) t.join();
    CHECK(at.scan.used() == 0);
    CHECK(at.join.used() == 0);
    CHECK(at.scan.peak() <= 16_MiB);
    CHECK(at.pool.stats().live == 0);
    at.pool.trim();
    CHECK(at.pool.valid());
}

TEST_CASE("containers over a pool are charged to their account", "[buffers]") {
    shared_pool<allot::use::drill> at;
    {
        std::vector<int, allot::adapt::std_allocator<int, decltype(at.of_scan)>> numbers{
            allot::adapt::std_allocator<int, decltype(at.of_scan)>(at.of_scan)};
        numbers.resize(1'000'000);
        CHECK(at.scan.used() >= 4'000'000);
        CHECK_THROWS_AS(numbers.resize(10'000'000), std::bad_alloc);
    }
    CHECK(at.scan.used() == 0);
}
