// fit::buddy: halves of halves, what becomes one again, and which free block serves.
#include <support/catch.hpp>
#include <support/failing_metadata.hpp>

#include <allot/fit/buddy.hpp>

#include <cstdint>
#include <vector>

namespace {

constexpr std::uintptr_t base = 0x7000'0000'0000;
constexpr std::size_t unit = 64;

} // namespace

TEST_CASE("a block is a power of two of units at a multiple of its size", "[buddy]") {
    allot::detail::buddy_runs<> fit{unit};
    REQUIRE(fit.add(base, 64 * unit, 0));
    const auto a = fit.allocate(5 * unit, 1);
    CHECK(a.address == base);
    CHECK(a.bytes == 8 * unit);
    const auto b = fit.allocate(1, 1);
    CHECK(b.address == base + 8 * unit); // the smallest free block that serves, the lowest of it
    CHECK(b.bytes == unit);
    const auto c = fit.allocate(16 * unit, 1);
    CHECK(c.address == base + 16 * unit);
    CHECK(fit.largest().bytes == 32 * unit);
    CHECK(fit.free_bytes() == (64 - 8 - 1 - 16) * unit);
    CHECK(fit.valid());
    CHECK(fit.release(b.address) == unit);
    CHECK(fit.release(b.address) == 0);
    CHECK(fit.release(a.address + unit) == 0);
    CHECK(fit.release(c.address) == 16 * unit);
    CHECK(fit.release(a.address) == 8 * unit);
    CHECK(fit.largest().bytes == 64 * unit);
    CHECK(fit.valid());
}

TEST_CASE("a free block of just the size serves before a larger one is cut", "[buddy]") {
    allot::detail::buddy_runs<> fit{unit};
    REQUIRE(fit.add(base, 16 * unit, 0)); // Netty's leftmost search would cut the free half here
    const auto half = fit.allocate(8 * unit, 1);
    std::vector<std::uintptr_t> small;
    for (int i = 0; i != 8; ++i) small.push_back(fit.allocate(unit, 1).address);
    CHECK(fit.release(small[3]) == unit);
    CHECK(fit.release(half.address) == 8 * unit);
    CHECK(fit.allocate(unit, 1).address == small[3]);
    CHECK(fit.largest().bytes == 8 * unit);
}

TEST_CASE("a block grows by its free later halves, and shrinks", "[buddy]") {
    allot::detail::buddy_runs<> fit{unit};
    REQUIRE(fit.add(base, 16 * unit, 0));
    const auto a = fit.allocate(unit, 1), b = fit.allocate(unit, 1);
    CHECK_FALSE(fit.grow(a.address, 2 * unit)); // b has the half
    CHECK_FALSE(fit.grow(b.address, 2 * unit)); // a later half itself
    CHECK(fit.release(b.address) == unit);
    CHECK(fit.grow(a.address, 7 * unit));
    CHECK(fit.bytes_of(a.address) == 8 * unit);
    CHECK(fit.live_bytes() == 8 * unit);
    CHECK(fit.valid());
    CHECK(fit.grow(a.address, 16 * unit));
    CHECK_FALSE(fit.grow(a.address, 17 * unit));
    CHECK(fit.shrink(a.address, 3 * unit));
    CHECK(fit.bytes_of(a.address) == 4 * unit);
    CHECK(fit.valid());
    CHECK(fit.release(a.address) == 4 * unit);
    CHECK(fit.largest().bytes == 16 * unit);
}

TEST_CASE("ranges are powers of two of units, and go back whole", "[buddy]") {
    allot::detail::buddy_runs<> fit{unit};
    CHECK_FALSE(fit.add(base, 3 * unit, 0));
    CHECK_FALSE(fit.add(base + 1, 4 * unit, 0));
    CHECK_FALSE(fit.add(base, unit / 2, 0));
    REQUIRE(fit.add(base, 4 * unit, 0));
    CHECK_FALSE(fit.add(base + 3 * unit, unit, 0));
    REQUIRE(fit.add(base + 4 * unit, 4 * unit, 1)); // side by side, two all the same
    CHECK(fit.largest().bytes == 4 * unit);
    const auto a = fit.allocate(1, 1);
    const std::uintptr_t other = a.address == base ? base + 4 * unit : base;
    const std::uintptr_t its = other == base ? base + 4 * unit : base;
    CHECK_FALSE(fit.is_range(fit.allocate(1, 1)));
    CHECK_FALSE(fit.remove({its, 4 * unit}, its, 4 * unit));
    CHECK_FALSE(fit.remove({other, 4 * unit}, other, 2 * unit));
    CHECK(fit.remove({other, 4 * unit}, other, 4 * unit));
    CHECK(fit.bytes() == 4 * unit);
    CHECK(fit.valid());
    REQUIRE(fit.add(other, 8 * unit, 0) == (other > its)); // above, there is room for a larger one
}

TEST_CASE("alignments up to a block's are met where the range has them", "[buddy]") {
    allot::detail::buddy_runs<> fit{unit};
    REQUIRE(fit.add(base + 32 * unit, 32 * unit, 0));
    const auto a = fit.allocate(1, 16 * unit);
    CHECK(a.address % (16 * unit) == 0);
    CHECK(a.bytes == 16 * unit);
    CHECK_FALSE(fit.allocate(1, 64 * unit)); // the range's address has not that
    CHECK(fit.valid());
}

TEST_CASE("a range that finds no metadata is not there", "[buddy][fault]") {
    failing_metadata::state memory;
    {
        allot::detail::buddy_runs<failing_metadata> fit{unit, {&memory}};
        for (long n = 0;; ++n) {
            memory.left = n;
            if (fit.add(base, 1024 * unit, 0)) break;
            REQUIRE(n < 10);
            CHECK(fit.bytes() == 0);
            CHECK_FALSE(fit.allocate(1, 1));
            CHECK(fit.valid());
        }
        memory.left = 0;
        CHECK(fit.allocate(1, 1).address == base);
    }
    CHECK(memory.held == 0);
}
