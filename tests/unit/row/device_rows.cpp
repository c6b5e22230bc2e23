// Rows in a device's memory: the host counts, limits and finds them without ever touching it. The simulated machine of
// most cases has no memory behind its addresses, so a touch ends the program (tests/death has the proof).
#include <support/catch.hpp>
#include <support/rescue.hpp>
#include <support/simulated_machine.hpp>

#include <allot/core/describe.hpp>
#include <allot/device_rows.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace allot::literals;
using allot::device::execution;

namespace {

using page = allot::page::on_device<allot::device::simulated>;
struct on_device : allot::policies<page> {};
struct quiet : allot::policies<page, allot::oom::null> {};
struct per_thread : allot::policies<page, allot::heap::per_thread> {};
struct uncounted : allot::policies<page, allot::count::none> {};
struct packed : allot::policies<page, allot::size::packed> {};
struct arena_there : allot::policies<page> {};
struct shares : allot::policies<allot::page::of<allot::arena<arena_there>>> {};

template <class Set> using rows_of = allot::row_manager<Set>;
using answers = allot::detail::resolved<on_device, allot::product::row_manager>;
static_assert(std::is_same_v<answers::answer<allot::category::count>, allot::count::links_out_of_band>);
static_assert(std::is_same_v<answers::answer<allot::category::slots>, allot::slots::bitmap>);
static_assert(std::is_same_v<answers::answer<allot::category::guard>, allot::guard::none>);
static_assert(
    std::is_same_v<allot::detail::resolved<shares, allot::product::row_manager>::answer<allot::category::count>,
                   allot::count::links_out_of_band>);
template <class Rows> concept makes = requires(Rows& r) { r.template make<int>(1); };
static_assert(!makes<rows_of<on_device>> && !makes<allot::local_rows<on_device>> && makes<rows_of<allot::policies<>>>);

constexpr allot::device::simulator_options no_memory{.total_bytes = std::size_t{1} << 30, .execution = execution::none};
const allot::row_type some{"some"};

struct machine : simulated_machine {
    using simulated_machine::simulated_machine;
    ~machine() {
        CHECK(sim.leaks() == 0);
        CHECK(sim.hazards() == 0);
    }
};

template <class Rows> void ends_empty(Rows& rows) {
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
    rows.trim();
    CHECK(rows.stats().charged == 0);
    CHECK(rows.arena().stats().taken == 0);
    CHECK(rows.arena().valid());
    rows.trim();
    CHECK(rows.arena().stats().committed == 0);
    const auto view = rows.arena().view();
    bool somebodys = false;
    for (std::size_t at = 0; at < view.bytes; at += rows.arena().page_bytes())
        somebodys = somebodys || view.owner_at(at) != nullptr;
    CHECK_FALSE(somebodys);
}

} // namespace

TEMPLATE_TEST_CASE("device rows of every size come and go by every way", "[device]", on_device, quiet, per_thread,
                   packed) {
    machine gpu{no_memory};
    rows_of<TestType> rows{gpu.api, allot::limit{256_MiB}, allot::page_bytes{1_MiB}};
    std::vector<void*> all;
    std::set<void*> apart;
    {
        auto local = rows.local();
        for (std::size_t n = 0; n < 3000000; n = n < 40 ? n + 1 : n * 9 / 8 + 1)
            for (int way = 0; way < 3; ++way) {
                void* const p = way == 0 ? rows.allocate(n) : way == 1 ? rows.allocate(n, some) : local.allocate(n);
                REQUIRE(p != nullptr);
                CHECK(reinterpret_cast<std::uintptr_t>(p) % 8 == 0);
                CHECK(rows.capacity(p) >= n);
                CHECK(apart.insert(p).second);
                all.push_back(p);
            }
        CHECK(rows.live_rows() == all.size());
        CHECK(rows.valid());
        for (std::size_t i = 0; i < all.size(); ++i) {
            rows.link(all[i]);
            allot::link(all[i]);
            CHECK(rows.is_shared(all[i]));
            rows.release(all[i]);
            allot::release(all[i]);
            CHECK_FALSE(allot::is_shared(all[i]));
            if (i % 3 == 0) rows.release(all[i]);
            else if (i % 3 == 1) local.release(all[i]);
            else allot::release(all[i]);
        }
    }
    ends_empty(rows);
}

TEST_CASE("device rows: heaps of one size, of one owner, and their handles", "[device]") {
    machine gpu{no_memory};
    rows_of<on_device> rows{gpu.api, allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    auto shared = rows.heap(48, some);
    auto unique = rows.heap(allot::as<allot::heap::unique, allot::refill::blocked<16>>, 100, some);
    std::vector<void*> all, of_shared;
    {
        auto local = unique.local();
        for (int i = 0; i < 5000; ++i) {
            of_shared.push_back(shared.allocate());
            all.push_back(unique.allocate());
            all.push_back(local.allocate());
        }
        CHECK(rows.live_rows() == all.size() + of_shared.size());
        std::shuffle(all.begin(), all.end(), std::mt19937{7});
        for (std::size_t i = 0; i < all.size() / 2; ++i) local.release(all[i]);
    }
    CHECK(rows.valid());
    CHECK(unique.release_all() > 0);
    CHECK(unique.live_rows() == 0);
    CHECK(rows.live_rows() == shared.live_rows());
    CHECK(shared.live_rows() > 2000);
    rows.visit_pages([&](const allot::page_use& use) { CHECK(rows.arena().is_taken(use.first)); });
    for (void* p : of_shared) shared.release(p);
    ends_empty(rows);
}

TEST_CASE("a page of device rows is rows from its first byte to its last", "[device]") {
    machine gpu{no_memory};
    rows_of<on_device> rows{gpu.api, allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    auto heap = rows.heap(allot::as<allot::heap::unique>, 64, some);
    std::vector<void*> all;
    for (int i = 0; i < 1024; ++i) all.push_back(heap.allocate());
    CHECK(heap.pages() == 1);
    std::sort(all.begin(), all.end());
    CHECK(reinterpret_cast<std::uintptr_t>(all.front()) % 64_KiB == 0);
    for (std::size_t i = 1; i < all.size(); ++i)
        CHECK(static_cast<std::byte*>(all[i]) - static_cast<std::byte*>(all[i - 1]) == 64);
    for (void* p : all) heap.release(p);
}

TEST_CASE("device rows: the limit is hard, and a refusal changes nothing", "[device]") {
    machine gpu{no_memory};
    rows_of<quiet> rows{gpu.api, allot::limit{8_MiB}, allot::page_bytes{1_MiB}};
    std::vector<void*> all;
    while (void* const p = rows.allocate(100000)) all.push_back(p);
    CHECK(rows.used() == 8_MiB);
    CHECK(rows.peak() == 8_MiB);
    CHECK(all.size() >= 80);
    CHECK(rows.try_allocate(20_MiB) == nullptr);
    CHECK(rows.used() == 8_MiB);
    for (void* p : all) rows.release(p);
    ends_empty(rows);
}

TEST_CASE("device rows: a trim unmaps units without rows, and only those", "[device]") {
    const support::rescue ends{"a trim"};
    machine gpu{no_memory}; // of 2 MiB, 8 pages
    rows_of<on_device> rows{gpu.api, allot::limit{64_MiB}, allot::page_bytes{256_KiB}};
    const auto committed = [&] { return rows.arena().stats().committed; };
    auto heap = rows.heap(allot::as<allot::heap::unique>, 4096, some);
    std::vector<void*> all;
    for (std::size_t i = 0; i < 32 * 64; ++i) all.push_back(heap.allocate()); // 32 pages, 4 units
    CHECK(committed() == 8_MiB);
    CHECK(rows.arena().resident() == 8_MiB);
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i)
        if (i != 64 * 12) heap.release(all[i]); // one row of the second unit stays
    const std::size_t maps = gpu.sim.count(allot::device::call::map);
    CHECK(rows.trim() == 6_MiB);
    CHECK(committed() == 2_MiB);
    CHECK(rows.trim() == 0);
    for (std::size_t i = 0; i < 32 * 64 - 1; ++i) all[i] = heap.allocate();
    CHECK(committed() == 8_MiB);
    CHECK(gpu.sim.count(allot::device::call::map) == maps + 3);
    CHECK(heap.release_all() == 32);
    ends_empty(rows);
}

TEST_CASE("device rows without virtual memory lie in one piece", "[device]") {
    auto options = no_memory;
    options.virtual_memory = false;
    machine gpu{options};
    {
        rows_of<quiet> rows{gpu.api, allot::limit{16_MiB}, allot::page_bytes{1_MiB}};
        CHECK(std::string{rows.arena().page_kind()} == "one piece of a device");
        CHECK(gpu.sim.count(allot::device::call::allocate) == 1);
        std::vector<void*> all;
        while (void* const p = rows.allocate(500000)) all.push_back(p);
        CHECK(rows.used() == 16_MiB);
        for (void* p : all) rows.release(p);
        CHECK(rows.trim() == 0);
        CHECK(rows.used() == 0);
    }
    rows_of<quiet> rows{gpu.api}; // half of what is free
    CHECK(rows.arena().limit() == 512_MiB);
}

TEST_CASE("device rows: every call of the device may fail, at any time", "[device]") {
    for (const bool mapped : {true, false})
        for (std::uint64_t k = 1;; ++k) {
            auto options = no_memory;
            options.virtual_memory = mapped;
            machine gpu{options};
            gpu.sim.fail_any({.nth = k});
            bool failed = false;
            try {
                rows_of<quiet> rows{gpu.api, allot::limit{16_MiB}, allot::page_bytes{256_KiB}};
                for (int round = 0; round < 2; ++round) {
                    std::vector<void*> all;
                    for (int i = 0; i < 24; ++i)
                        if (void* const p = rows.allocate(i % 6 == 5 ? 1000000 : 200000)) all.push_back(p);
                    failed = failed || all.size() < 24;
                    CHECK(rows.live_rows() == all.size());
                    for (void* p : all) rows.release(p);
                    CHECK(rows.valid());
                    rows.trim();
                    CHECK(rows.used() == 0);
                    CHECK(rows.arena().valid());
                }
                gpu.sim.revive();
                void* const p = rows.allocate(1000000);
                CHECK(p != nullptr);
                rows.release(p);
            } catch (const allot::out_of_memory& e) {
                failed = true;
                CHECK_THAT(e.report(), ContainsSubstring("out of memory"));
                gpu.sim.revive();
            }
            if (!failed && k > 200) break;
        }
}

TEST_CASE("device rows: what cannot be mapped whole is not mapped at all", "[device]") {
    const support::rescue ends{"a commit that fails"};
    auto options = no_memory;
    options.total_bytes = 8_MiB;
    machine gpu{options};
    rows_of<quiet> rows{gpu.api, allot::limit{64_MiB}, allot::reserve_bytes{64_MiB}, allot::page_bytes{1_MiB}};
    CHECK(rows.allocate(20_MiB) == nullptr);
    CHECK(rows.arena().stats().committed == 0);
    CHECK(rows.used() == 0);
    CHECK(rows.peak() == 0);
    void* const p = rows.allocate(7_MiB);
    CHECK(p != nullptr);
    CHECK(rows.allocate(2_MiB) == nullptr);
    rows.release(p);
    void* const q = rows.allocate(5_MiB); // the same units, or those that are mapped anew after a trim
    CHECK(q != nullptr);
    rows.release(q);
}

TEST_CASE("no such device: the manager says so", "[device]") {
    machine gpu{no_memory};
    try {
        rows_of<on_device> rows{gpu.api, allot::device_id{7}, allot::limit{16_MiB}};
        FAIL("it was made");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(e.report(), ContainsSubstring("there is no such device"));
    }
}

TEST_CASE("managers share an arena on a device, and ask each other for pages", "[device]") {
    machine gpu{no_memory};
    allot::arena<arena_there> pages{gpu.api, allot::limit{8_MiB}, allot::page_bytes{1_MiB}};
    rows_of<shares> a{pages, allot::name{"a"}}, b{pages, allot::name{"b"}};
    std::vector<void*> all;
    for (int i = 0; i < 70; ++i) all.push_back(a.allocate(100000));
    void* const p = b.allocate(10);
    for (void* row : all) b.release(row); // a's rows, by whoever has them
    CHECK(a.live_rows() == 0);
    void* const q = b.allocate(6_MiB);
    CHECK(q != nullptr);
    a.release(q);
    a.release(p);
    CHECK(b.live_rows() == 0);
}

TEST_CASE("rows of no count, on a device", "[device]") {
    machine gpu{no_memory};
    rows_of<uncounted> rows{gpu.api, allot::limit{64_MiB}};
    std::vector<void*> all;
    for (std::size_t i = 0; i < 3000; ++i) all.push_back(rows.allocate(i * 7));
    all.push_back(rows.allocate(5_MiB));
    for (void* p : all) rows.release(p);
    ends_empty(rows);
}
