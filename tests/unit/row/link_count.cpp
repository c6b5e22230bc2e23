#include <support/catch.hpp>
#include <support/damage.hpp>
#include <support/from_environment.hpp>
#include <support/row_sets.hpp>

#include <string_view>
#include <thread>
#include <vector>

using namespace allot::literals;
using word = allot::detail::link_word;

namespace {

constexpr allot::leak_sink unheard{[](void*, std::string_view) noexcept {}};
constexpr std::uint32_t max_links = word::saturated - 1;

template <class Row> void links(std::uint32_t n, Row link) {
    for (std::uint32_t i = 0; i < n; ++i) link();
}

} // namespace

TEST_CASE("link_word: the tag of a live row is in no free slot's word, and no small number or pointer has it",
          "[row]") {
    STATIC_REQUIRE(word::is_row(word::sole_link));
    STATIC_REQUIRE(word::is_row(word::tag | max_links | word::constructed | word::sealed));
    STATIC_REQUIRE_FALSE(word::is_row(word::tag)); // without links
    STATIC_REQUIRE_FALSE(word::is_row(word::sole_link | allot::detail::slot_marks::bit));
    for (const std::uint32_t other : {0u, 1u, 2u, 1000u, 0x7fffu, 0x3f800000u, 0x3ff00000u, 0x41424344u, 0xffffffffu})
        CHECK_FALSE(word::is_row(other));
}

TEMPLATE_TEST_CASE("a row with the maximum of links is released by as many releases; with one more it is never freed",
                   "[row]", sets::plain, sets::scanning_aside) { // the count beside the row, and apart
    damage_log damage;
    allot::row_manager<TestType> rows{allot::limit{8_MiB}, damage.sink(), unheard};
    std::size_t saturated = 0;
    for (const std::size_t bytes : {std::size_t{40}, std::size_t{1000000}}) { // a slot, a huge row
        if (ALLOT_ASAN && support::in_short_run() && bytes != 40) continue;   // release has it
        void* const p = rows.allocate(bytes);
        links(max_links - 1, [&] { rows.link(p); });
        CHECK(damage.none());
        links(max_links - 1, [&] { rows.release(p); });
        CHECK_FALSE(rows.is_shared(p));
        CHECK(rows.live_rows() == saturated + 1);
        rows.release(p);
        CHECK(rows.live_rows() == saturated);

        void* const q = rows.allocate(bytes);
        links(max_links, [&] { rows.link(q); });
        CHECK(damage.one(allot::misuse::too_many_links, q));
        links(1000, [&] { rows.link(q); });
        links(max_links + 2000, [&] { rows.release(q); });
        CHECK(damage.none()); // reported once
        CHECK(rows.is_shared(q));
        CHECK(rows.live_rows() == ++saturated);
        CHECK(rows.capacity(q) >= bytes);
        CHECK(rows.valid());
    }
}

TEST_CASE("threads that link and release at the maximum leave a row that is saturated, or counted", "[row]") {
    damage_log damage;
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}, damage.sink(), unheard};
    void* const p = rows.allocate(40);
    links(max_links - 10, [&] { rows.link(p); });
    std::vector<std::thread> all;
    for (int t = 0; t < 4; ++t)
        all.emplace_back([&] {
            links(100, [&] { rows.link(p); });
            links(100, [&] { rows.release(p); });
        });
    for (std::thread& t : all) t.join();
    CHECK(damage.one(allot::misuse::too_many_links, p));
    links(max_links + 100, [&] { allot::release(p); });
    CHECK(rows.live_rows() == 1);
    CHECK(rows.valid());
}
