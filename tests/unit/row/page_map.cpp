// A handle's release finds the row's heap in the arena's table of owners: it must hold what the page's header says.
#include <support/catch.hpp>

#include <allot/row_manager.hpp>

#include <vector>

using namespace allot::literals;

namespace {

struct counted : allot::policies<> {};
struct uncounted : allot::policies<allot::count::none> {};

} // namespace

TEMPLATE_TEST_CASE("a handle is not taken in by pages that were its heap's", "[rows]", counted, uncounted) {
    allot::row_manager<TestType> rows{allot::limit{8_MiB}, allot::reserve_bytes{8_MiB}, allot::page_bytes{64_KiB}};
    auto small = rows.heap(200);
    auto mine = small.local();
    const auto fill = [&] {
        std::vector<void*> all;
        while (void* const row = mine.try_allocate()) all.push_back(row);
        return all;
    };
    const std::vector<void*> all = fill();
    REQUIRE(all.size() > 8_MiB / 300);
    for (void* const row : all) mine.release(row);
    {
        auto other = rows.heap(72);
        auto others = other.local();
        for (int i = 0; i < 3000; ++i) mine.release(others.allocate()); // pages of its own by now
    }
    for (const std::size_t bytes : {100_KiB, 1_MiB, 6_MiB}) { // huge rows, all over the pages
        rows.trim();
        void* const row = rows.try_allocate(bytes);
        REQUIRE(row != nullptr);
        mine.release(row);
        CHECK(rows.live_rows() == 0);
    }
    const std::vector<void*> again = fill();
    CHECK(again.size() >= all.size() - 64);
    for (void* const row : again) mine.release(row);
    CHECK(rows.live_rows() == 0);
}

TEMPLATE_TEST_CASE("a handle that made no row yet releases huge rows, and rows of others", "[rows]", counted,
                   uncounted) {
    allot::row_manager<TestType> rows{allot::limit{8_MiB}, allot::reserve_bytes{8_MiB}, allot::page_bytes{64_KiB}};
    for (const std::size_t bytes : {40_KiB, 100_KiB, 1_MiB}) {
        auto fresh = rows.local();
        fresh.release(rows.allocate(bytes), bytes);
        fresh.release(rows.allocate(bytes));
        fresh.release(rows.allocate(bytes), 8); // other bytes cost time, nothing else
        CHECK(rows.live_rows() == 0);
    }
    auto fresh = rows.local();
    fresh.release(rows.allocate(100), 100);
    CHECK(rows.live_rows() == 0);

    // One that only releases keeps slots once another handle made it a bin, when it filled its own.
    auto only_releases = rows.local();
    std::vector<void*> all;
    for (int i = 0; i < 200; ++i) all.push_back(fresh.allocate(100));
    only_releases.release(all[0]);
    for (int i = 0; i < 200; ++i) all.push_back(fresh.allocate(100));
    const std::size_t shared = rows.live_rows();
    only_releases.release(all[1]);
    CHECK(rows.live_rows() == shared - 1);
    CHECK(only_releases.allocate(100) == all[1]);
    for (std::size_t i = 1; i < all.size(); ++i) only_releases.release(all[i]);
    CHECK(rows.live_rows() == 0);
}

#if !ALLOT_CHECKED // where misuse does not end the program
TEST_CASE("a row of a page that was given back is nobody's", "[rows]") {
    allot::row_manager<uncounted> rows{allot::limit{1_MiB}, allot::reserve_bytes{1_MiB}, allot::page_bytes{64_KiB}};
    auto small = rows.heap(200);
    void* row = nullptr;
    {
        auto gone = small.local();
        row = gone.allocate();
        gone.release(row);
    }
    rows.trim();
    auto mine = small.local();
    auto* const page = rows.arena().take();
    REQUIRE(static_cast<std::byte*>(row) - page >= 0);
    REQUIRE(static_cast<std::byte*>(row) - page < 64 * 1024);
    mine.release(row);
    void* const other = mine.allocate();
    CHECK(other != row);
    mine.release(other);
    rows.arena().give(page, 1);
}
#endif

TEST_CASE("an arena keeps whose its pages are", "[arena]") {
    allot::arena<> pages{allot::limit{4_MiB}, allot::reserve_bytes{4_MiB}, allot::page_bytes{64_KiB}};
    const auto view = pages.view();
    int a = 0, b = 0;
    const auto tag = [](int* owner) { return reinterpret_cast<std::uintptr_t>(owner); };
    std::byte* const one = pages.take();
    std::byte* const two = pages.take();
    pages.set_owner(one, &a);
    pages.set_owner(two, &b);
    CHECK(view.contains(one));
    CHECK_FALSE(view.contains(pages.end()));
    CHECK_FALSE(view.contains(pages.begin() - 1));
    CHECK(view.tag_at(view.offset(one)) == tag(&a));
    CHECK(view.tag_at(view.offset(one + 64_KiB - 1)) == tag(&a));
    CHECK(view.tag_at(view.offset(two)) == tag(&b));
    CHECK_FALSE(view.tag_at(view.offset(two)) == tag(&a));
    pages.set_owner(one, nullptr);
    CHECK_FALSE(view.tag_at(view.offset(one)) == tag(&a));
    pages.give(one, 1);
    pages.give(two, 1);
}
