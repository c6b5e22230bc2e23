// How much of a hard limit rows can use, and the page size that follows from the limit.
#include <support/catch.hpp>

#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>
#include <allot/use/roxie.hpp>
#include <allot/use/thor.hpp>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace allot::literals;

namespace {

struct fallbacks : allot::policies<> {};
struct packed : allot::policies<allot::size::packed> {};

// Bytes asked for over the limit, at the first refusal of rows of 8 to `most` bytes.
template <class Set> double payload(std::size_t limit, unsigned most = 4096, unsigned seed = 1) {
    allot::row_manager<Set> rows{allot::limit{limit}};
    std::mt19937 random{seed};
    std::size_t asked = 0;
    std::vector<void*> held;
    for (;;) {
        const std::size_t n = 8 + random() % (most - 7);
        void* const row = rows.try_allocate(n);
        if (row == nullptr) break;
        held.push_back(row);
        asked += n;
    }
    CHECK(rows.peak() <= limit);
    for (void* const row : held) rows.release(row);
    return static_cast<double>(asked) / static_cast<double>(limit);
}

template <class Set> std::size_t page_at(std::size_t limit) {
    return allot::row_manager<Set>{allot::limit{limit}}.arena().page_bytes();
}

} // namespace

TEMPLATE_TEST_CASE("rows of any size use four fifths of 8 MiB, and nine tenths of 64 MiB", "[row]", fallbacks, packed,
                   allot::use::thor) {
    const double canaries = ALLOT_CHECKED != 0 ? 0.01 : 0; // a checked build adds 4 bytes to each row
    CHECK(payload<TestType>(8_MiB) >= 0.80 - canaries);
    CHECK(payload<TestType>(64_MiB) >= 0.90 - canaries);
}

TEMPLATE_TEST_CASE("rows of any size use half of 256 KiB to 1 MiB", "[row]", fallbacks, packed,
                   allot::use::containers) {
    const double half = ALLOT_CHECKED != 0 ? 0.48 : 0.50;
    for (const unsigned most : {64u, 100u, 160u, 256u, 400u, 700u, 1000u, 2048u, 4096u}) {
        INFO("rows of at most " << most);
        double sum = 0; // of 16 pages; the first rows may be in ten classes, each with a page
        for (unsigned seed = 1; seed != 9; ++seed) {
            const double one = payload<TestType>(256_KiB, most, seed);
            CHECK(one >= half - 0.10);
            sum += one;
        }
        CHECK(sum / 8 >= half);
        for (const std::size_t limit : {384_KiB, 512_KiB, 1_MiB}) CHECK(payload<TestType>(limit, most) >= half);
    }
}

TEST_CASE("a report under a limit of few pages says how many sizes fit", "[row]") {
    char text[2048];
    const auto says = [&](const char* what, const auto& rows) {
        allot::text_writer out{text};
        rows.report(out);
        CHECK_THAT(std::string{out.view()}, ContainsSubstring(what));
    };
    says("no row fits: a page has 16 KiB", allot::row_manager<fallbacks>{allot::limit{10'000}});
    says("rows of at most 1 size class fit: each takes", allot::row_manager<fallbacks>{allot::limit{16_KiB}});
    says("rows of at most 8 size classes fit at once: each takes pages of 16 KiB",
         allot::row_manager<fallbacks>{allot::limit{128_KiB}});
    allot::row_manager<fallbacks> enough{allot::limit{256_KiB}};
    allot::text_writer out{text};
    enough.report(out);
    CHECK(out.view().find("at most") == std::string_view::npos);
}

TEST_CASE("a set that names no size has the list fine; roxie is a name", "[row]") {
    STATIC_REQUIRE(std::is_same_v<allot::size::bucketed<>, allot::size::bucketed<allot::size::list::fine>>);
    allot::row_manager<fallbacks> rows{allot::limit{2_MiB}};
    allot::row_manager<allot::use::roxie> by_roxie{allot::limit{1_MiB}};
    for (std::size_t n = 64; n <= 1000; n += 8) {
        void* const row = rows.allocate(n);
        CHECK(rows.capacity(row) <= n + n / 8 + 8);
        rows.release(row);
    }
    void* const row = by_roxie.allocate(600);
    CHECK(by_roxie.capacity(row) >= 1000);
    by_roxie.release(row);
}

TEST_CASE("the page grows with the root of the limit; one that is named stays", "[row]") {
    CHECK(page_at<fallbacks>(1_MiB) == 16_KiB);
    CHECK(page_at<fallbacks>(8_MiB) == 16_KiB);
    CHECK(page_at<fallbacks>(32_MiB) == 32_KiB);
    CHECK(page_at<fallbacks>(64_MiB) == 32_KiB);
    CHECK(page_at<fallbacks>(128_MiB) == 64_KiB);
    CHECK(page_at<fallbacks>(512_MiB) == 128_KiB);
    CHECK(page_at<fallbacks>(2_GiB) == 256_KiB);
    CHECK(page_at<fallbacks>(8_GiB) == 512_KiB);
    CHECK(page_at<fallbacks>(32_GiB) == 1_MiB);
    CHECK(page_at<fallbacks>(256_GiB) == 1_MiB);
    CHECK(allot::row_manager<fallbacks>{}.arena().page_bytes() == 64_KiB);
    for (const std::size_t page : {16_KiB, 256_KiB, 16_MiB}) {
        CHECK(allot::row_manager<fallbacks>{allot::limit{64_MiB}, allot::page_bytes{page}}.arena().page_bytes() ==
              page);
        CHECK(allot::row_manager<fallbacks>{allot::page_bytes{page}}.arena().page_bytes() == page);
    }
    struct named : allot::policies<allot::page::mapped<allot::page::mapped_options{.page = 512_KiB}>> {};
    CHECK(page_at<named>(64_MiB) == 512_KiB);
    CHECK(page_at<named>(8_MiB) == 64_KiB); // a 128th
    CHECK(allot::row_manager<named>{}.arena().page_bytes() == 512_KiB);
}
