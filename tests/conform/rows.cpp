// What a row manager's answers to heap, count and oom promise. A new answer joins by its name in one of the lists.
#include <support/catch.hpp>
#include <support/sets_home.hpp>

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace allot::literals;

namespace {

using heaps = std::tuple<allot::heap::shared, allot::heap::unique, allot::heap::per_thread>;
using counts = std::tuple<allot::count::links, allot::count::links_out_of_band, allot::count::none>;
using ooms = std::tuple<allot::oom::null, allot::oom::raise>;

template <class Policy> struct a_set : allot::policies<Policy> {};

const allot::row_type some{"some"};
std::atomic<int> ended{0};
const allot::row_type ending{"ending", [](void*) noexcept { ++ended; }, 8};

} // namespace

TEMPLATE_LIST_TEST_CASE("heap: threads share the manager; what they keep goes back with them", "[heap]", heaps) {
    STATIC_REQUIRE(allot::category::heap::takes<TestType>);
    sets::home<a_set<TestType>> home;
    auto& rows = home.rows;
    std::vector<void*> left[3];
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < 3; ++t)
        all.emplace_back([&, t] {
            for (std::size_t i = 0; i < 2000; ++i) {
                void* const p = rows.allocate(i % 200, some);
                if (i % 4 == 0) left[t].push_back(p);
                else rows.release(p);
            }
        });
    for (auto& t : all) t.join();
    CHECK(rows.live_rows() == 1500);
    CHECK(rows.valid());
    for (auto& mine : left)
        for (void* p : mine) rows.release(p);
    rows.trim();
    CHECK(rows.used() == 0); // nothing stays with threads that have ended
}

TEMPLATE_LIST_TEST_CASE("heap: a handle is its heap's alone exactly where the policy says so", "[heap]", heaps) {
    sets::home<a_set<TestType>> home;
    auto one = home.rows.heap(48, some);
    auto two = home.rows.heap(48, some);
    CHECK((&one.heap() != &two.heap()) == TestType::exclusive);
    STATIC_REQUIRE(requires { one.release_all(); } == TestType::exclusive);
    void* const p = one.allocate();
    two.release(p);
    CHECK(one.live_rows() == 0);
    if constexpr (TestType::exclusive) {
        static_cast<void>(one.allocate());
        void* const q = two.allocate();
        CHECK(one.release_all() == 1);
        CHECK(two.live_rows() == 1);
        two.release(q);
    }
    CHECK(home.rows.live_rows() == 0);
}

TEMPLATE_LIST_TEST_CASE("count: holders, destructors and what a row carries", "[count]", counts) {
    STATIC_REQUIRE(allot::category::count::takes<TestType>);
    sets::home<a_set<TestType>> home;
    auto& rows = home.rows;
    auto unique = rows.heap(allot::as<allot::heap::unique, allot::size::packed, allot::guard::none>, 60, some);
    CHECK(unique.usage().slot_bytes == (TestType::counted && !TestType::out_of_band ? 64 : 60));
    if constexpr (TestType::counted) {
        for (const std::size_t n : {40u, 500u, 200000u}) {
            ended = 0;
            void* const p = rows.allocate(n, ending);
            for (int i = 0; i < 100; ++i) rows.link(p);
            rows.finalize(p);
            for (int i = 0; i < 100; ++i) {
                CHECK(rows.is_shared(p));
                rows.release(p);
            }
            CHECK_FALSE(rows.is_shared(p));
            CHECK(ended == 0);
            rows.release(p);
            CHECK(ended == 1);
        }
        ended = 0;
        void* const raw = rows.allocate(10, some); // a type without a destructor may be finalized
        rows.finalize(raw);
        rows.release(raw);
        std::vector<void*> all; // many rows that die in another order than they were made
        for (int i = 0; i < 1000; ++i) {
            all.push_back(rows.allocate(static_cast<std::size_t>(i) % 100, i % 2 != 0 ? ending : some));
            rows.finalize(all.back());
        }
        for (std::size_t i = 0; i < 1000; ++i) rows.release(all[i * 7 % 1000]);
        CHECK(ended == 500);
    }
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("count: links aside write nothing beside the row", "[count]") {
    sets::home<a_set<allot::count::links_out_of_band>> home;
    auto heap = home.rows.heap(allot::as<allot::heap::unique, allot::size::packed, allot::guard::none>, 64, some);
    std::set<std::uintptr_t> seen;
    std::vector<unsigned char*> all;
    for (int i = 0; i < 500; ++i) {
        all.push_back(static_cast<unsigned char*>(heap.allocate()));
        for (int k = 0; k < 64; ++k) all.back()[k] = 0xee;
        home.rows.link(all.back());
    }
    bool good = true;
    for (unsigned char* p : all) {
        for (int k = 0; k < 64; ++k) good = good && p[k] == 0xee;
        seen.insert(reinterpret_cast<std::uintptr_t>(p));
        home.rows.release(p);
        home.rows.release(p);
    }
    CHECK(good);
    CHECK(*seen.rbegin() - *seen.begin() == 499 * 64); // row after row, with nothing between
}

TEMPLATE_LIST_TEST_CASE("oom: a request that cannot be met fails as the policy says, everywhere", "[oom]", ooms) {
    STATIC_REQUIRE(allot::category::oom::takes<TestType>);
    sets::home<a_set<TestType>> home;
    auto& rows = home.rows;
    auto local = rows.local();
    auto heap = rows.heap(5000, some);
    auto heap_local = heap.local();
    std::vector<void*> all;
    while (void* const p = heap.try_allocate()) all.push_back(p);
    const std::size_t used = rows.used(), live = rows.live_rows();
    CHECK(rows.try_allocate(1_MiB) == nullptr);
    CHECK(local.try_allocate(1_MiB) == nullptr);
    CHECK(heap_local.try_allocate() == nullptr);
    if constexpr (TestType::raises) {
#if ALLOT_EXCEPTIONS
        CHECK_THROWS_AS(rows.allocate(1_MiB), allot::out_of_memory);
        CHECK_THROWS_AS(local.allocate(1_MiB), allot::out_of_memory);
        CHECK_THROWS_AS(heap.allocate(), allot::out_of_memory);
        CHECK_THROWS_AS(heap_local.allocate(), std::bad_alloc);
        if constexpr (requires { rows.template make<long>(5); })
            CHECK_THROWS_AS(rows.template make<long>(5), allot::out_of_memory);
#endif
    } else {
        CHECK(rows.allocate(1_MiB) == nullptr);
        CHECK(local.allocate(1_MiB) == nullptr);
        CHECK(heap.allocate() == nullptr);
        CHECK(heap_local.allocate() == nullptr);
        if constexpr (requires { rows.template make<long>(5); }) {
            CHECK_FALSE(rows.template make<long>(5));
            CHECK_FALSE(heap.template make<long>(5));
        }
    }
    CHECK(rows.used() == used);
    CHECK(rows.live_rows() == live);
    for (void* p : all) heap.release(p);
}

#if ALLOT_EXCEPTIONS
TEMPLATE_LIST_TEST_CASE("oom: a heap that cannot be made is no handle", "[oom]", ooms) {
    sets::home<a_set<TestType>> home;
    CHECK_THROWS_AS(home.rows.heap(std::size_t{1} << 30, some), allot::out_of_memory);
#if !ALLOT_CHECKED
    static const allot::row_type odd{"odd", nullptr, 24};
    CHECK_THROWS_AS(home.rows.heap(40, odd), allot::out_of_memory);
    CHECK(home.rows.try_allocate(40, odd) == nullptr);
    static const allot::row_type three{"three", nullptr, 3};
    CHECK(home.rows.try_allocate(40, three) == nullptr);
    auto local = home.rows.local();
    CHECK(local.try_allocate(40, three) == nullptr);
    CHECK(local.try_allocate(40, odd) == nullptr);
#endif
    static const allot::row_type bytes{"bytes", nullptr, 1}; // less than a link count is aligned to
    auto heap = home.rows.heap(allot::as<allot::heap::unique, allot::size::packed>, 5, bytes);
    for (int i = 0; i < 10; ++i) CHECK(reinterpret_cast<std::uintptr_t>(heap.allocate()) % 4 == 0);
    CHECK(heap.release_all() == 1);
}
#endif
