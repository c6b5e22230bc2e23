// Alignments of rows: those of 16 come from the heaps of other rows, those up to 4096 from heaps of their own.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <allot/row_manager.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

using namespace allot;
using namespace allot::literals;

namespace {

constexpr std::array<row_type, 11> aligned_types = [] {
    std::array<row_type, 11> all{};
    for (std::size_t i = 0; i != all.size(); ++i) all[i] = {"aligned", nullptr, std::size_t{4} << i};
    return all;
}();
constexpr const row_type& of_16 = aligned_types[2];

struct fine : policies<size::bucketed<size::list::fine>> {};
struct fine_uncounted : policies<size::bucketed<size::list::fine>, count::none> {};
struct fine_per_thread : policies<size::bucketed<size::list::fine>, heap::per_thread> {};
struct canaries : policies<size::bucketed<size::list::fine>, guard::canary> {};
struct odd_list {
    static constexpr std::array<std::uint32_t, 4> sizes{12, 20, 40, 1000};
};
struct odd : policies<size::bucketed<odd_list>, count::none> {};

bool is_at(const void* p, std::size_t align) { return reinterpret_cast<std::uintptr_t>(p) % align == 0; }

template <class Rows> std::size_t heaps_of(const Rows& rows) {
    std::size_t n = 0;
    rows.usage([&](const heap_usage&) { ++n; });
    return n;
}

template <class Way> void allocate_all(Way& way, std::size_t align) {
    const row_type& type = aligned_types[detail::log2_floor(align) - 2];
    std::vector<std::pair<unsigned char*, std::size_t>> held;
    for (const std::size_t bytes : {0u, 1u, 24u, 64u, 72u, 100u, 1000u, 4096u, 5000u, 17000u, 30000u, 70000u, 300000u})
        for (int i = 0; i != 3; ++i) {
            auto* const p = static_cast<unsigned char*>(way.allocate(bytes, type));
            REQUIRE(p != nullptr);
            REQUIRE(is_at(p, align));
            REQUIRE(capacity(p) >= bytes);
            std::memset(p, static_cast<int>(held.size()), bytes);
            held.emplace_back(p, bytes);
        }
    for (std::size_t i = 0; i != held.size(); ++i) {
        for (std::size_t k = 0; k != held[i].second; ++k)
            if (held[i].first[k] != static_cast<unsigned char>(i)) FAIL("rows overlap");
        way.release(held[i].first, held[i].second);
    }
}

} // namespace

TEMPLATE_TEST_CASE("rows have every alignment up to 4096", "[row]", sets::plain, sets::scanning, sets::linked,
                   sets::scanning_aside, sets::packed, sets::uncounted, fine, fine_uncounted, fine_per_thread, canaries,
                   odd) {
    row_manager<TestType> rows{limit{128_MiB}};
    {
        auto mine = rows.local();
        for (std::size_t align = 4; align <= row_type::max_align; align *= 2) {
            allocate_all(rows, align);
            allocate_all(mine, align);
            auto heap = rows.heap(200, aligned_types[detail::log2_floor(align) - 2]);
            void* const row = heap.allocate();
            CHECK(is_at(row, align));
            heap.release(row);
        }
    }
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
    rows.trim();
    CHECK(rows.used() == 0);
}

TEMPLATE_TEST_CASE("rows aligned to 16 come from the heaps of other rows", "[row]", fine, fine_uncounted,
                   fine_per_thread) {
    row_manager<TestType> rows{limit{64_MiB}};
    for (const std::size_t bytes : {8u, 24u, 40u, 56u, 120u, 248u, 1000u, 2000u}) {
        INFO(bytes);
        std::vector<void*> held;
        // A class and the one behind it: a request for 16 takes the second if the slots of the first are no multiples.
        for (int i = 0; i != 10; ++i) {
            held.push_back(rows.allocate(bytes));
            held.push_back(rows.allocate(bytes + 8));
        }
        const std::size_t heaps = heaps_of(rows), used = rows.used();
        for (int i = 0; i != 10; ++i) {
            held.push_back(rows.allocate(bytes, of_16));
            REQUIRE(is_at(held.back(), 16));
        }
        CHECK(heaps_of(rows) == heaps);
        CHECK(rows.used() == used);
        for (void* const row : held) rows.release(row);
    }
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("a row aligned to 16 has no larger slot than a heap of its own would have", "[row]") {
    row_manager<fine_uncounted> rows{limit{256_MiB}};
    for (std::size_t bytes = 1; bytes <= 300'000; bytes += bytes / 16 + 1) {
        INFO(bytes);
        void* const any = rows.allocate(bytes);
        void* const row = rows.allocate(bytes, of_16);
        CHECK(capacity(row) <= detail::align_up(capacity(any), std::size_t{16}));
        rows.release(any);
        rows.release(row);
    }
}

TEST_CASE("a checked row type may be aligned to 16", "[row]") {
    static constexpr row_type type{.name = "sealed", .align = 16, .check = row_check::crc32c};
    row_manager<fine> rows{limit{8_MiB}};
    for (const std::size_t bytes : {1u, 60u, 64u, 1000u, 5000u}) {
        void* const row = rows.allocate(bytes, type);
        CHECK(is_at(row, 16));
        std::memset(row, 7, bytes);
        allot::seal(row);
        CHECK(allot::check(row));
        rows.release(row);
    }
}

TEST_CASE("threads share rows of all alignments", "[row]") {
    row_manager<fine_per_thread> rows{page_bytes{64_KiB}};
    std::array<std::vector<void*>, 4> held;
    const auto in_threads = [](auto work) {
        std::vector<std::thread> all;
        for (std::size_t t = 0; t != 4; ++t) all.emplace_back([=] { work(t); });
        for (auto& thread : all) thread.join();
    };
    in_threads([&](std::size_t t) {
        for (std::size_t i = 0; i != 2000; ++i) {
            const row_type& type = aligned_types[i % 7];
            held[t].push_back(rows.try_allocate(1 + i % 500, type));
            std::memset(held[t].back(), static_cast<int>(i), 1 + i % 500);
        }
    });
    for (const auto& some : held)
        for (std::size_t i = 0; i != some.size(); ++i) REQUIRE(is_at(some[i], std::size_t{4} << i % 7));
    in_threads([&](std::size_t t) {
        for (void* const row : held[(t + 1) % 4]) rows.release(row);
    });
    CHECK(rows.live_rows() == 0);
}

#if !ALLOT_CHECKED
TEST_CASE("an alignment that rows cannot have is refused with the limit of alignments", "[row]") {
    static constexpr row_type page{"page", nullptr, 8192};
    row_manager<fine> rows{limit{8_MiB}};
    row_manager<fine_uncounted> uncounted{limit{8_MiB}};
    charge_status why;
    CHECK(rows.try_allocate(10, page, &why) == nullptr);
    CHECK(why.outcome == charge_outcome::misused);
    CHECK(uncounted.try_allocate(10, page, &why) == nullptr);
    CHECK(why.outcome == charge_outcome::misused);
}
#endif
