// Size classes of blocks: the smallest that holds a size, and what it wastes.
#include <support/catch.hpp>

#include <allot/chunk/block_size_classes.hpp>

#include <cstddef>

namespace {

using eights = allot::detail::block_size_classes<64, 8>;
using fours = allot::detail::block_size_classes<64, 4>;
using twos = allot::detail::block_size_classes<64, 1>;

template <class Classes> void holds_for_all(std::size_t most, double max_waste, std::size_t wasteful_below) {
    unsigned last = 0;
    for (std::size_t n = 1; n <= most; n += n < 70'000 ? 1 : 61) {
        const unsigned c = Classes::class_of(n);
        const std::size_t bytes = Classes::bytes_of(c);
        REQUIRE((c == last || Classes::class_of(n - 1) == last || n > 70'000));
        REQUIRE(bytes >= n);
        REQUIRE((c == 0 || Classes::bytes_of(c - 1) < n));
        REQUIRE(Classes::class_of(bytes) == c);
        REQUIRE(bytes % 64 == 0);
        if (n > wasteful_below) REQUIRE(static_cast<double>(bytes - n) < max_waste * static_cast<double>(bytes));
        else REQUIRE(bytes - n < 64);
        last = c;
    }
}

} // namespace

TEST_CASE("every size up to a chunk has the smallest class that holds it, wasting less than a fifth", "[chunks]") {
    holds_for_all<fours>(std::size_t{4} << 20, 0.2, 256);
    CHECK(fours::bytes_of(0) == 64);
    CHECK(fours::bytes_of(fours::class_of(257)) == 320);
    CHECK(fours::bytes_of(fours::class_of(5000)) == 5120);
    CHECK(fours::bytes_of(fours::class_of(4 << 20)) == 4 << 20);
    unsigned in_a_doubling = 0;
    for (unsigned c = 0; fours::bytes_of(c) <= 8192; ++c) in_a_doubling += fours::bytes_of(c) > 4096;
    CHECK(in_a_doubling == 4);
}

TEST_CASE("eight classes per doubling hold 2^n bytes and a unit more without waste", "[chunks]") {
    holds_for_all<eights>(std::size_t{1} << 20, 0.12, 576);
    holds_for_all<eights>(std::size_t{4} << 20, 0.2, 576); // four from 1 MiB on
    for (std::size_t n = 64; n <= std::size_t{32} << 20; n *= 2) {
        CHECK(eights::bytes_of(eights::class_of(n + 64)) == n + 64);
        CHECK(eights::bytes_of(eights::class_of(n)) <= n + 64);
    }
    CHECK(eights::class_of(std::size_t{64} << 20) < 124);
    CHECK(eights::class_of(100, 4096) == eights::class_of(100));
}

TEST_CASE("powers of two are one a doubling", "[chunks]") {
    holds_for_all<twos>(std::size_t{4} << 20, 0.5, 64);
    CHECK(twos::bytes_of(twos::class_of(5000)) == 8192);
}

TEST_CASE("a class of an alignment is a multiple of it, and not larger than it must be", "[chunks]") {
    for (std::size_t align = 64; align <= 65536; align *= 2)
        for (std::size_t n = 1; n < 200'000; n += 37) {
            const std::size_t bytes = fours::bytes_of(fours::class_of(n, align));
            REQUIRE((bytes >= n && bytes % align == 0));
            REQUIRE(bytes < 2 * (n > align ? n : align));
        }
}
