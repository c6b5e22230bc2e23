// any_rows: the manager's set forgotten, its behaviour kept.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <concepts>
#include <string>
#include <vector>

using namespace allot::literals;

namespace {

struct unlimited : allot::policies<allot::ledger::none> {};

// Code that is no template.
std::vector<void*> build(allot::any_rows rows, std::size_t n, const allot::row_type& type) {
    std::vector<void*> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(rows.allocate(i % 500, type));
    return all;
}

} // namespace

TEMPLATE_TEST_CASE("any_rows does what its manager does", "[adapt]", sets::plain, sets::bitmap, sets::packed,
                   sets::quiet, sets::per_thread) {
    const allot::row_type type{"some"};
    allot::row_manager<TestType> rows{allot::limit{16_MiB}};
    allot::any_rows any(rows);
    const allot::any_rows copy = any;
    auto all = build(copy, 1000, type);
    CHECK(any.live_rows() == 1000);
    CHECK(any.used() == rows.used());
    CHECK(any.limit() == 16_MiB);
    CHECK(any.capacity(all[10]) >= 10);
    any.link(all[0]);
    CHECK(any.is_shared(all[0]));
    any.release(all[0]);
    CHECK_FALSE(any.is_shared(all[0]));
    CHECK(any.try_allocate(64_MiB) == nullptr);
    char buffer[2000];
    allot::text_writer out{buffer};
    any.report(out);
    CHECK_THAT(std::string(buffer), ContainsSubstring("limit 16 MiB"));
    for (void* p : all) any.release(p);
    CHECK(any.live_rows() == 0);
    CHECK(any.release_empty_pages() > 0);
    CHECK(rows.trim() > 0);
    CHECK(any.used() == 0);
}

TEST_CASE("any_rows runs destructors of finalized rows", "[adapt]") {
    counted_row::alive = 0;
    allot::row_manager<sets::plain> rows{allot::limit{16_MiB}};
    const allot::any_rows any(rows);
    void* const p = any.allocate(sizeof(counted_row), allot::row_type_of<counted_row>);
    new (p) counted_row(5);
    any.finalize(p);
    any.release(p);
    CHECK(counted_row::alive == 0);
}

TEST_CASE("any_rows of a manager that charges nobody reports the arena's figures", "[adapt]") {
    allot::row_manager<unlimited> rows{allot::reserve_bytes{16_MiB}};
    const allot::any_rows any(rows);
    void* const p = any.allocate(100);
    CHECK(any.used() == rows.arena().stats().taken);
    CHECK(any.limit() == rows.arena().limit());
    any.release(p);
}

TEST_CASE("any_rows is of rows that can be linked", "[adapt]") {
    STATIC_REQUIRE(std::constructible_from<allot::any_rows, allot::row_manager<sets::plain>&>);
    STATIC_REQUIRE_FALSE(std::constructible_from<allot::any_rows, allot::row_manager<sets::uncounted>&>);
    STATIC_REQUIRE(std::is_trivially_copyable_v<allot::any_rows>);
}
