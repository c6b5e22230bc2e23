// Addresses of rows that were dropped with their page, and bytes that look like a link count: neither is a row when
// another heap, manager or arena user has the page.
#include <support/catch.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/core/units.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string_view>
#include <vector>

using namespace allot::literals;

namespace {

namespace page = allot::page;
using arena_type = allot::arena<>;
struct of_arena : allot::policies<page::of<arena_type>> {};
struct linked : allot::policies<page::of<arena_type>, allot::slots::linked> {};
struct scanning : allot::policies<page::of<arena_type>, allot::slots::scanning> {};
struct delayed : allot::policies<page::of<arena_type>, allot::slots::delay_release> {};
struct out_of_band : allot::policies<page::of<arena_type>, allot::count::links_out_of_band> {};
struct packed : allot::policies<page::of<arena_type>, allot::size::packed> {};
struct guarded : allot::policies<page::of<arena_type>, allot::guard::canary> {};
struct wiped : allot::policies<page::of<arena_type>, allot::guard::zero> {};
struct chunks : allot::policies<page::of<arena_type>> {};
struct lent : allot::policies<page::borrowed> {};

const allot::leak_sink not_told{[](void*, std::string_view) noexcept {}, nullptr};

void fill_with_counts(void* at, std::size_t bytes) {
    const std::uint32_t one_link = 0x15A00001;
    for (std::size_t i = 0; i + 4 <= bytes; i += 4) std::memcpy(static_cast<std::byte*>(at) + i, &one_link, 4);
}
// How many of the addresses the manager takes for live rows.
template <class Rows> std::size_t live_among(Rows& rows, std::vector<void*> addresses) {
    return addresses.size() - rows.compact(addresses, {.rows = 0}).ignored;
}
// All addresses of a row's page at which a row could begin.
template <class Rows> std::vector<void*> around(Rows& rows, void* row) {
    std::vector<void*> all;
    const auto base = reinterpret_cast<std::uintptr_t>(row) & rows.arena().page_mask();
    for (std::size_t at = 4; at < rows.arena().page_bytes(); at += 4) all.push_back(reinterpret_cast<void*>(base + at));
    return all;
}
// Calls on stale addresses change nothing. Checked builds abort at them.
template <class Rows> void misuse([[maybe_unused]] Rows& rows, [[maybe_unused]] const std::vector<void*>& stale) {
    if constexpr (ALLOT_CHECKED == 0) {
        auto local = rows.local();
        std::size_t wrong = 0;
        for (std::size_t i = 0; i != stale.size(); ++i) {
            wrong += rows.capacity(stale[i]) != 0;
            wrong += !rows.is_shared(stale[i]);
            rows.link(stale[i]);
            allot::link(stale[i]);
            if (i % 3 == 0) rows.release(stale[i]);
            else if (i % 3 == 1) local.release(stale[i]);
            else allot::release(stale[i]);
        }
        CHECK(wrong == 0);
    }
}
// Rows of `first`, and more of them: all at different addresses.
template <class Rows, class Allocate> void nothing_twice(Rows& rows, void* first, Allocate allocate) {
    std::set<void*> seen{first};
    std::size_t twice = 0;
    for (int i = 0; i != 2000; ++i) twice += !seen.insert(allocate()).second;
    CHECK(twice == 0);
    CHECK(rows.live_rows() == 2001);
    CHECK(rows.valid());
}

// A manager of a shared arena ends with rows; between(arena) has their pages for a while; then the next manager has
// them.
template <class Set, class Between> void next_manager(Between between) {
    arena_type arena{allot::limit{8_MiB}, allot::page_bytes{16_KiB}};
    std::vector<void*> old;
    {
        allot::row_manager<Set> rows{arena, not_told};
        for (int i = 0; i != 3000; ++i) {
            old.push_back(rows.allocate(60));
            if (i % 2 != 0) rows.link(old.back());
        }
        old.push_back(rows.allocate(50'000));
    }
    between(arena);
    allot::row_manager<Set> rows{arena, not_told};
    void* const one = rows.allocate(60);
    std::erase(old, one);
    CHECK(live_among(rows, old) == 0);
    misuse(rows, old);
    CHECK(rows.live_rows() == 1);
    nothing_twice(rows, one, [&] { return rows.allocate(60); });
}

template <class Set, class... Answers> void next_rows_of_a_heap() {
    arena_type arena{allot::limit{8_MiB}, allot::page_bytes{16_KiB}};
    allot::row_manager<Set> rows{arena, not_told};
    static constexpr allot::row_type type{.name = "t"};
    auto heap = rows.heap(allot::as<allot::heap::unique, Answers...>, 60, type);
    std::vector<void*> old;
    for (int i = 0; i != 1000; ++i) {
        old.push_back(heap.allocate());
        if (i % 2 != 0) heap.link(old.back());
    }
    heap.release_all();
    void* const one = heap.allocate();
    std::erase(old, one);
    CHECK(live_among(rows, old) == 0);
    misuse(rows, old);
    if constexpr (ALLOT_CHECKED == 0) {
        auto local = heap.local();
        for (void* const row : old) local.release(row);
    }
    CHECK(rows.live_rows() == 1);
    nothing_twice(rows, one, [&] { return heap.allocate(); });
}

} // namespace

TEMPLATE_TEST_CASE("rows that release_all() has dropped are none when their heap has the pages again", "[row][stale]",
                   of_arena, linked, scanning, delayed, out_of_band, packed, guarded, wiped) {
    next_rows_of_a_heap<TestType>();
    next_rows_of_a_heap<TestType, allot::size::packed>();
}

TEMPLATE_TEST_CASE("rows of a manager that has ended are none of the next one", "[row][stale]", of_arena, linked,
                   scanning, delayed, out_of_band, packed, guarded, wiped) {
    next_manager<TestType>([](arena_type&) {});
    next_manager<TestType>([](arena_type& arena) { // who has the pages meanwhile writes little
        allot::chunk_arena<chunks> pool{arena};
        std::vector<void*> all;
        for (int i = 0; i != 20; ++i) all.push_back(pool.allocate(30'000).address);
        for (void* const block : all) pool.deallocate(block);
    });
    next_manager<TestType>([](arena_type& arena) {
        allot::row_manager<of_arena> others{arena, not_told};
        for (int i = 0; i != 20; ++i) static_cast<void>(others.allocate(i % 2 != 0 ? 100'000 : 3000));
    });
}

TEST_CASE("bytes that look like a link count are no row when a heap has their page", "[row][stale]") {
    arena_type arena{allot::limit{8_MiB}, allot::page_bytes{16_KiB}};
    const auto is_alone = [](auto& rows, void* row) {
        CHECK(live_among(rows, around(rows, row)) == 1);
        rows.release(row);
    };
    const auto first_rows = [&] {
        allot::row_manager<of_arena> rows{arena};
        allot::row_manager<packed> small{arena};
        for (const std::size_t bytes : {1u, 20u, 60u, 500u, 3000u}) {
            is_alone(rows, rows.allocate(bytes));
            is_alone(small, small.allocate(bytes));
        }
    };
    // Pages that their user took itself.
    std::byte* const taken = arena.take(200);
    fill_with_counts(taken, 200 * 16_KiB);
    arena.give(taken, 200);
    first_rows();
    { // huge rows that grow, slide, move and shrink; what they leave goes to heaps at once
        allot::row_manager<of_arena> rows{arena};
        void* row = rows.allocate(100'000);
        for (const std::size_t bytes : {1'000'000u, 50'000u, 2'000'000u, 10u, 300'000u}) {
            fill_with_counts(row, rows.capacity(row));
            row = rows.resize(row, 100, bytes);
            first_rows();
        }
        rows.release(row);
    }
    first_rows();
    { // rows of another size
        allot::row_manager<of_arena> rows{arena, not_told};
        for (int i = 0; i != 300; ++i) {
            void* const row = rows.allocate(1000);
            fill_with_counts(row, 1000);
            if (i % 2 != 0) rows.release(row);
        }
    }
    first_rows();
    { // blocks
        allot::chunk_arena<chunks> pool{arena};
        std::vector<allot::block> all;
        for (int i = 0; i != 20; ++i) {
            all.push_back(pool.allocate(40'000));
            fill_with_counts(all.back().address, 40'000);
        }
        for (const allot::block& b : all) pool.deallocate(b.address);
    }
    first_rows();
}

TEST_CASE("bytes of lent memory that look like a link count are no row", "[row][stale]") {
    std::vector<std::byte> memory(2_MiB);
    fill_with_counts(memory.data(), memory.size());
    allot::row_manager<lent> rows{std::span{memory}, allot::page_bytes{16_KiB}, not_told};
    for (const std::size_t bytes : {1u, 60u, 500u}) {
        void* const row = rows.allocate(bytes);
        CHECK(live_among(rows, around(rows, row)) == 1);
    }
}

TEST_CASE("the first row of a page that was never used touches little of it", "[row][stale]") {
    struct plain_pages : allot::policies<page::mapped<page::mapped_options{.transparent_huge = false}>> {};
    allot::row_manager<plain_pages> rows{allot::limit{64_MiB}, allot::page_bytes{1_MiB}};
    void* const row = rows.allocate(60);
    CHECK(rows.arena().resident() <= 64_KiB);
    rows.release(row);
}
