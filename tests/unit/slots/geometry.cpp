// The cut of a page and the way from an address to its slot and back, exhaustively for each geometry.
#include <support/catch.hpp>

#include <allot/slots/geometry.hpp>

#include <cstddef>

namespace {

// Every slot lies in the page behind what precedes it, aligned, and its offset finds its index.
bool sound(const allot::detail::slot_geometry& g, std::size_t page, std::size_t fixed, std::size_t out_of_band,
           std::size_t align) {
    if (g.first < fixed + out_of_band + g.header || g.first % align != 0 || g.stride % align != 0) return false;
    if (g.offset_of(g.capacity - 1) + g.stride - g.header > page) return false;
    for (std::uint32_t i = 0; i < g.capacity; ++i) {
        const std::size_t at = g.offset_of(i);
        if (g.index_of(at) != i || !g.is_row(at)) return false;
        if (g.stride < 65536 && g.index_of(at + g.stride - 1) != i) return false;
        if (g.stride > 1 && (g.is_row(at + 1) || g.is_row(at + g.stride - 1))) return false;
    }
    return !g.is_row(g.offset_of(g.capacity)) && (g.first == 0 || !g.is_row(g.first - 1)) && !g.is_row(0);
}

} // namespace

TEST_CASE("every slot of every geometry is found by its offset", "[slots]") {
    std::size_t words = 0; // out of band for each slot
    const auto bits = [&](std::size_t n) { return (n + 63) / 64 * 8 + 8 + n * words * 4; };
    for (words = 0; words < 3; ++words)
        for (const std::size_t page : {std::size_t{65536}, std::size_t{1} << 20})
            for (std::size_t row = 4; row < page; row = row * 5 / 4 + 3)
                for (const std::size_t align : {4u, 8u, 16u, 64u})
                    for (const std::size_t header : {0u, 4u, 8u}) {
                        const auto g = allot::detail::compute_geometry(page, 192, row, align, header, bits);
                        INFO("page " << page << " row " << row << " align " << align << " header " << header);
                        if (g.capacity == 0) {
                            REQUIRE(allot::detail::align_up(192 + bits(1) + header, align) - header +
                                        allot::detail::align_up(row + header, align) >
                                    page);
                            continue;
                        }
                        REQUIRE(sound(g, page, 192, bits(g.capacity), align));
                        // one more would not fit
                        const std::size_t n = g.capacity + std::size_t{1};
                        REQUIRE(allot::detail::align_up(192 + bits(n) + header, align) - header + n * g.stride > page);
                    }
}

TEST_CASE("the largest page of the smallest slots", "[slots]") {
    const std::size_t page = std::size_t{16} << 20;
    const auto g = allot::detail::compute_geometry(page, 192, 4, 4, 0, [](std::size_t n) { return (n + 63) / 64 * 8; });
    CHECK(g.capacity > 4000000);
    CHECK(sound(g, page, 192, (g.capacity + 63u) / 64 * 8, 4));
}

TEST_CASE("rows without a header start at cache lines, or at the power of two in their size", "[slots]") {
    const auto bits = [](std::size_t n) { return (n + 63) / 64 * 16 + 8; };
    for (std::size_t row = 8; row <= 4096; row += 8) {
        const auto g = allot::detail::compute_geometry(65536, 192, row, 8, 0, bits);
        const std::size_t power = row & (~row + 1);
        INFO(row);
        CHECK(g.first % (power < 64 ? power : 64) == 0);
        CHECK(g.first + std::size_t{g.capacity} * row <= 65536);
    }
}

TEST_CASE("a row that does not fit leaves no slot", "[slots]") {
    const auto none = [](std::size_t) { return std::size_t{0}; };
    CHECK(allot::detail::compute_geometry(65536, 192, 65536, 8, 8, none).capacity == 0);
    CHECK(allot::detail::compute_geometry(65536, 192, 65536 - 200, 8, 8, none).capacity == 1);
    CHECK(allot::detail::compute_geometry(65536, 192, 65536 - 192, 8, 8, none).capacity == 0);
    CHECK_FALSE(allot::detail::compute_geometry(65536, 192, 70000, 8, 8, none).is_row(192));
    for (std::size_t less = 0; less < 100; ++less)
        CHECK(allot::detail::compute_geometry(65536, 192, SIZE_MAX - less, 8, 8, none).capacity == 0);
}
