// Every entry point of row managers that takes a size or an alignment, at the edges of std::size_t.
#include <support/catch.hpp>
#include <support/edge_sizes.hpp>
#include <support/from_environment.hpp>

#include <allot/adapt/pmr.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/row_manager.hpp>

#include <cstring>
#include <optional>

using namespace allot;
using namespace allot::literals;

namespace {

constexpr std::size_t most = 8_MiB;
constexpr row_type aligned{.name = "aligned", .align = 64};
constexpr row_type checked_type{.name = "checked", .check = row_check::sum16};

template <class Heap> void a_row_holds(Heap& heap, std::size_t bytes) {
    void* const row = heap.try_allocate();
    REQUIRE(row != nullptr);
    CHECK(capacity(row) >= bytes);
    std::memset(row, 1, bytes);
    heap.release(row);
}

template <class Rows, class Answers> void walk_heap(Rows& rows, Answers answers, const row_type& type) {
    for (const std::size_t bytes : support::lawful_edge_sizes()) {
        INFO(bytes);
        try {
            auto heap = rows.heap(answers, bytes, type);
            CHECK(bytes <= rows.arena().page_bytes());
            a_row_holds(heap, bytes);
            auto mine = heap.local();
            void* const row = mine.try_allocate();
            CHECK(row != nullptr);
            mine.release(row);
        } catch (const out_of_memory&) {
            CHECK(bytes > 1000);
        }
    }
}

template <class Set> void walk() {
    row_manager<Set> rows{limit{most}};
    for (const std::size_t bytes : support::lawful_edge_sizes()) {
        INFO(bytes);
        void* const row = rows.try_allocate(bytes);
        CHECK((row != nullptr) == (bytes < most));
        if (row != nullptr) {
            CHECK(rows.capacity(row) >= bytes);
            std::memset(row, 1, bytes);
        }
        rows.release(row, bytes);
        auto mine = rows.local();
        mine.release(mine.try_allocate(bytes), bytes);
        rows.set_limit(bytes);
        rows.set_limit(most);
    }
    walk_heap(rows, as<>, untyped);
    walk_heap(rows, as<heap::unique>, untyped);
    walk_heap(rows, as<heap::unique, size::exact>, aligned);
    walk_heap(rows, as<heap::unique, size::packed>, checked_type);
    walk_heap(rows, as<heap::shared_by<2>>, untyped);
    walk_heap(rows, as<heap::unique, refill::blocked<16>>, untyped);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

struct plain : policies<oom::null> {};
struct packed : policies<size::packed, slots::linked, oom::null> {};
struct exact : policies<size::exact, slots::scanning, heap::per_thread, oom::null> {};
struct out_of_band : policies<count::links_out_of_band, oom::null> {};

} // namespace

TEST_CASE("row managers: sizes at the edges of size_t are served or refused", "[row]") {
    walk<plain>();
    walk<packed>();
    walk<exact>();
    walk<out_of_band>();
}

TEST_CASE("row managers: limits, page sizes and reservations at the edges of size_t", "[row]") {
    std::size_t i = 0;
    for (const std::size_t bytes : support::edge_sizes()) {
        if (SIZE_MAX - bytes > 1 && SIZE_MAX - bytes < 64) continue;         // each takes 0.1 s at -O0
        if (ALLOT_ASAN && support::in_short_run() && i++ % 2 != 0) continue; // of 2^n - 1, 2^n, 2^n + 1 each in turn
        INFO(bytes);
        {
            row_manager<plain> rows{limit{bytes}};
            void* const row = rows.try_allocate(100);
            CHECK((row != nullptr) == (bytes >= 16_KiB));
            rows.release(row);
        }
        {
            row_manager<plain> rows{page_bytes{bytes}, reserve_bytes{64_MiB}};
            void* const row = rows.try_allocate(100);
            CHECK(row != nullptr);
            rows.release(row);
        }
        row_manager<plain> rows{reserve_bytes{bytes}};
        void* const row = rows.try_allocate(100);
        CHECK(row != nullptr);
        rows.release(row);
    }
}

TEST_CASE("adapters of row managers: sizes and alignments at the edges of size_t", "[adapt]") {
    struct raising : policies<> {};
    row_manager<raising> rows{limit{most}};
    adapt::memory_resource resource{rows};
    adapt::std_allocator<std::uint64_t, row_manager<raising>> numbers{rows};
    for (const std::size_t bytes : support::edge_sizes()) {
        INFO(bytes);
        for (std::size_t align = 1; align <= 1_MiB; align *= 2) {
            try {
                resource.deallocate(resource.allocate(bytes, align), bytes, align);
                CHECK(bytes < most);
            } catch (const std::bad_alloc&) {
                CHECK(bytes >= 6_MiB);
            }
        }
        try {
            numbers.deallocate(numbers.allocate(bytes), bytes);
            CHECK(bytes < most / 8);
        } catch (const std::bad_alloc&) {
            CHECK(bytes >= 7_MiB / 8);
        }
    }
    CHECK(rows.live_rows() == 0);
}
