// fit::best without tags: sizes, alignments, ranges, resizing.
#include <support/catch.hpp>

#include <allot/fit/best.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

constexpr std::uintptr_t base = 0x10'0000'0000;
constexpr std::size_t most = ~std::size_t{0};
using runs = allot::detail::best_fit_runs<>;

// Live runs with a free one of each of these units behind a live one of one unit.
void make_holes(runs& fit, std::uintptr_t at, const std::vector<std::size_t>& units) {
    std::size_t all = 0;
    for (const std::size_t n : units) all += n + 1;
    REQUIRE(fit.add(at, all * 256, 0));
    std::vector<std::uintptr_t> holes;
    for (const std::size_t n : units) {
        holes.push_back(fit.allocate(n * 256, 256).address);
        REQUIRE(fit.allocate(256, 256));
    }
    for (const std::uintptr_t hole : holes) REQUIRE(fit.release(hole) != 0);
}

} // namespace

TEST_CASE("best fit takes the smallest run that is large enough, the lowest of equals", "[heap][fit]") {
    runs fit{256};
    make_holes(fit, base, {7, 3, 9, 3, 5});
    const auto hole = [](std::size_t before) { return base + before * 256; };
    CHECK(fit.allocate(3 * 256, 256).address == hole(8));
    CHECK(fit.allocate(600, 256).address == hole(22)); // 3 units
    CHECK(fit.allocate(1000, 256).address == hole(26));
    CHECK(fit.allocate(5 * 256, 256).address == hole(0)); // 1 of 5 was left, 7 is the next
    CHECK(fit.allocate(1, 256).address == hole(30));
    CHECK(fit.allocate(2 * 256, 1).address == hole(5));
    CHECK(fit.largest().bytes == 9 * 256);
    CHECK(fit.free_bytes() == 9 * 256);
    CHECK_FALSE(fit.allocate(10 * 256, 256));
    CHECK(fit.valid());
}

TEST_CASE("every size at the edges of bins is found where it is the only one, and no other is taken", "[heap][fit]") {
    using index = allot::detail::size_index<allot::detail::run_node<allot::detail::no_tag>>;
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t n = 1; n < 200; ++n) sizes.push_back(n);
    for (unsigned octave = 6; octave < 32; ++octave)
        for (std::uint32_t step = 0; step < 32; ++step)
            for (int off = -1; off <= 1; ++off)
                sizes.push_back(static_cast<std::uint32_t>((std::int64_t{32 + step} << (octave - 5)) + off));
    sizes.push_back(~0U);
    std::uint32_t last = 0;
    std::sort(sizes.begin(), sizes.end());
    for (const std::uint32_t n : sizes) {
        const std::uint32_t bin = index::bin_of(n);
        REQUIRE(bin < index::bins);
        REQUIRE((bin == last || bin == last + 1)); // none is left out
        last = bin;
        runs fit{256};
        REQUIRE(fit.add(base, std::size_t{n} * 256, 0));
        if (n != ~0U) REQUIRE(!fit.allocate((std::size_t{n} + 1) * 256, 256));
        REQUIRE(fit.largest().bytes == std::size_t{n} * 256);
        REQUIRE(fit.allocate(std::size_t{n} * 256, 256).address == base);
        REQUIRE(fit.free_bytes() == 0);
        REQUIRE(fit.release(base) == std::size_t{n} * 256);
        REQUIRE(fit.allocate(std::size_t{n - n / 100} * 256, 256).address == base);
        REQUIRE(fit.valid());
    }
    CHECK(last == index::bins - 1);
}

TEST_CASE("zero bytes are a run of their own, absurd sizes and alignments are none", "[heap][fit]") {
    runs fit{256};
    CHECK_FALSE(fit.allocate(1, 1)); // nothing was added
    REQUIRE(fit.add(base, 1 << 20, 0));
    const auto a = fit.allocate(0, 1), b = fit.allocate(0, 1);
    CHECK(a.bytes == 256);
    CHECK((b && a.address != b.address));
    for (const std::size_t bytes : {most, most - 255, most / 2, (std::size_t{1} << 40), (std::size_t{1} << 20)})
        CHECK_FALSE(fit.allocate(bytes, 256));
    for (const std::size_t align :
         {std::size_t{0}, std::size_t{3}, std::size_t{768}, std::size_t{1} << 63, std::size_t{1} << 30})
        CHECK_FALSE(fit.allocate(256, align));
    CHECK_FALSE(fit.allocate(most - 1000, std::size_t{1} << 38));
    CHECK(fit.live_runs() == 2);
    CHECK(fit.live_bytes() == 512);
    CHECK(fit.valid());
}

TEST_CASE("an alignment above the unit is met, and what lies before the run stays free", "[heap][fit]") {
    runs fit{256};
    REQUIRE(fit.add(base + 256, 64 * 1024, 0));
    const auto r = fit.allocate(1000, 4096);
    REQUIRE(r);
    CHECK(r.address == base + 4096);
    CHECK(fit.largest().address == base + 5120);
    CHECK(fit.allocate(15 * 256, 256).address == base + 256);
    CHECK(fit.free_bytes() + fit.live_bytes() == 64 * 1024);
    CHECK(fit.valid());
    CHECK(fit.release(r.address) == 1024);
    CHECK(fit.valid());

    runs exact{256}; // a run without a byte to spare serves if it happens to be aligned
    REQUIRE(exact.add(base + 256, 2 * 4096 - 256, 0));
    CHECK_FALSE(exact.allocate(4097, 4096));
    CHECK(exact.allocate(4096, 4096).address == base + 4096);
    CHECK(exact.valid());
    CHECK(exact.release(base + 4096));
    CHECK(exact.largest().bytes == 2 * 4096 - 256);
}

TEST_CASE("any power of two is a unit", "[heap][fit]") {
    for (const std::size_t unit : {std::size_t{1}, std::size_t{16}, std::size_t{2} << 20}) {
        runs fit{unit};
        REQUIRE(fit.add(base, 64 * unit, 0));
        CHECK(fit.unit() == unit);
        if (unit != 1) CHECK_FALSE(fit.add(base + 64 * unit, unit / 2, 0));
        const auto a = fit.allocate(unit + 1, 1), b = fit.allocate(1, 4 * unit), c = fit.allocate(5, 1);
        CHECK(a.bytes == 2 * unit);
        CHECK(b.address == base + 4 * unit);
        CHECK(c.bytes == (5 + unit - 1) / unit * unit);
        CHECK(c.address ==
              base + (c.bytes <= 2 * unit ? 2 : 5) * unit); // best fit: the gap in front of b, if it is enough
        CHECK(fit.valid());
        for (const auto& r : {a, b, c}) CHECK(fit.release(r.address) == r.bytes);
        CHECK(fit.largest().bytes == 64 * unit);
        CHECK(fit.valid());
    }
}

TEST_CASE("addresses at the end of all are cut like others", "[heap][fit]") {
    runs fit{256};
    constexpr std::uintptr_t last = most - 0xFFFF; // 64 KiB, less a unit: the end is an address, too
    REQUIRE(fit.add(last, 0xFF00, 0));
    CHECK_FALSE(fit.allocate(256, std::size_t{1} << 20)); // no such address in it
    CHECK(fit.allocate(0xFF00 - 0x1000, 0x1000).address == last);
    CHECK(fit.allocate(0xF00, 256).address == last + 0xEF00);
    CHECK(fit.valid());
}

TEST_CASE("released runs become one with free ones on both sides", "[heap][fit]") {
    runs fit{256};
    REQUIRE(fit.add(base, 5 * 256, 0));
    for (const unsigned order : {01234U, 04321U, 02041U, 01302U}) {
        std::vector<std::uintptr_t> at;
        for (int i = 0; i < 5; ++i) at.push_back(fit.allocate(256, 256).address);
        REQUIRE(fit.largest().bytes == 0);
        for (unsigned i = 0, left = order; i < 4; ++i, left /= 8) {
            if (at[left % 8] != 0) REQUIRE(fit.release(at[left % 8]) == 256);
            at[left % 8] = 0;
            REQUIRE(fit.valid());
        }
        for (const std::uintptr_t a : at)
            if (a != 0) REQUIRE(fit.release(a) == 256);
        REQUIRE(fit.free_runs(0) == 1);
        REQUIRE(fit.largest().bytes == 5 * 256);
        REQUIRE(fit.valid());
    }
}

TEST_CASE("what is no live run is not released", "[heap][fit]") {
    runs fit{256};
    CHECK(fit.release(base) == 0);
    REQUIRE(fit.add(base, 4096, 0));
    const auto a = fit.allocate(512, 256);
    for (const std::uintptr_t wrong : {a.address + 256, base - 256, a.address + 512, a.address + 1, std::uintptr_t{0}})
        CHECK(fit.release(wrong) == 0);
    CHECK(fit.release(a.address) == 512);
    CHECK(fit.release(a.address) == 0);
    CHECK(fit.valid());
}

TEST_CASE("ranges of one segment that touch are one, others are not", "[heap][fit]") {
    runs fit{256};
    REQUIRE(fit.add(base + 4096, 4096, 1));
    REQUIRE(fit.add(base + 12288, 4096, 1));
    CHECK(fit.ranges() == 2);
    REQUIRE(fit.add(base + 8192, 4096, 1)); // between them
    CHECK(fit.ranges() == 1);
    CHECK(fit.largest().bytes == 3 * 4096);
    REQUIRE(fit.add(base, 4096, 2)); // touches, of another segment
    CHECK(fit.ranges() == 2);
    CHECK(fit.free_runs(0) == 2);
    CHECK(fit.largest().bytes == 3 * 4096);
    CHECK(fit.valid());
    const auto big = fit.allocate(3 * 4096, 256);
    CHECK(big.address == base + 4096);
    REQUIRE(fit.add(base + 16384, 4096, 1)); // behind a live run
    CHECK(fit.ranges() == 2);
    CHECK(fit.bytes() == 5 * 4096);
    CHECK(fit.grow(big.address, 4 * 4096));
    CHECK(fit.valid());

    for (const std::uintptr_t at : {base, base + 256, base + 16384, base + 20480 - 256})
        CHECK_FALSE(fit.add(at, 512, 1)); // overlaps
    CHECK_FALSE(fit.add(base - 256, 512, 1));
    CHECK_FALSE(fit.add(0, 512, 1));
    CHECK_FALSE(fit.add(base + 65536 + 1, 512, 1));
    CHECK_FALSE(fit.add(base + 65536, 511, 1));
    CHECK_FALSE(fit.add(base + 65536, 0, 1));
    CHECK_FALSE(fit.add(base + 65536, std::size_t{1} << 41, 1));
    CHECK_FALSE(fit.add(most - 1023, 2048, 1));
    CHECK(fit.bytes() == 5 * 4096);
    CHECK(fit.valid());
}

TEST_CASE("runs beyond what a node counts are not joined", "[heap][fit]") {
    runs fit{256};
    constexpr std::size_t whole = std::size_t{runs::max_units} * 256;
    REQUIRE(fit.add(base, whole, 0));
    REQUIRE(fit.add(base + whole, 256, 0));
    CHECK(fit.ranges() == 1);
    CHECK(fit.free_runs(0) == 2);
    CHECK(fit.valid());
    const auto first = fit.allocate(256, 256), second = fit.allocate(256, 256);
    CHECK(first.address == base + whole);
    CHECK(second.address == base);
    CHECK(fit.release(first.address) != 0);
    CHECK(fit.free_runs(0) == 1);
    CHECK(fit.release(second.address) != 0);
    CHECK(fit.free_runs(0) == 2);
    CHECK(fit.valid());
}

namespace {

void take_back(std::size_t first, std::size_t units) {
    runs fit{256};
    REQUIRE(fit.add(base, 32 * 256, 7));
    const auto before = fit.allocate(8 * 256, 256), run = fit.allocate(16 * 256, 256),
               behind = fit.allocate(8 * 256, 256);
    REQUIRE(fit.release(run.address));
    const auto free = fit.largest();
    REQUIRE(free.address == run.address);
    const std::uintptr_t from = free.address + first * 256;
    const std::size_t bytes = units * 256;

    CHECK_FALSE(fit.remove(free, from, bytes + 13 * 256)); // beyond it
    CHECK_FALSE(fit.remove(free, from + 1, bytes));
    CHECK_FALSE(fit.remove(free, from, bytes - 1));
    CHECK_FALSE(fit.remove(free, from, 0));
    CHECK_FALSE(fit.remove(free, free.address - 256, bytes));
    CHECK_FALSE(fit.remove(before, before.address, 256)); // live
    REQUIRE(fit.remove(free, from, bytes));
    CHECK(fit.valid());
    CHECK(fit.ranges() == 2);
    CHECK(fit.bytes() == 32 * 256 - bytes);
    CHECK(fit.free_bytes() == 16 * 256 - bytes);
    CHECK_FALSE(fit.remove(free, from, bytes));

    CHECK(fit.release(before.address));
    CHECK(fit.release(behind.address));
    CHECK(fit.free_runs(0) == 2);
    CHECK(fit.valid());
    REQUIRE(fit.add(from, bytes, 7)); // and comes again
    CHECK(fit.ranges() == 1);
    CHECK(fit.free_runs(0) == 1);
    CHECK(fit.largest().bytes == 32 * 256);
    CHECK(fit.valid());
    REQUIRE(fit.remove(fit.largest(), base, 32 * 256));
    CHECK(fit.ranges() == 0);
    CHECK(fit.bytes() == 0);
    CHECK_FALSE(fit.allocate(1, 1));
    CHECK(fit.valid());
}

} // namespace

TEST_CASE("a part of a free run is taken back: its front, end, middle, all", "[heap][fit]") {
    take_back(0, 4);
    take_back(12, 4);
    take_back(4, 8);
    take_back(0, 16);
}

TEST_CASE("a live run grows into the free one behind it, and shrinks", "[heap][fit]") {
    runs fit{256};
    REQUIRE(fit.add(base, 8 * 256, 0));
    const auto a = fit.allocate(256, 256), b = fit.allocate(256, 256), c = fit.allocate(256, 256);
    CHECK_FALSE(fit.grow(a.address, 512)); // b is there
    CHECK(fit.grow(a.address, 200));       // has it
    REQUIRE(fit.release(b.address));
    CHECK_FALSE(fit.grow(a.address, 513));
    CHECK(fit.grow(a.address, 512)); // all of it
    CHECK(fit.bytes_of(a.address) == 512);
    CHECK(fit.grow(c.address, 1000)); // a part
    CHECK(fit.bytes_of(c.address) == 1024);
    CHECK(fit.free_bytes() == 2 * 256);
    CHECK_FALSE(fit.grow(c.address, most));
    CHECK_FALSE(fit.grow(c.address + 256, 512));
    CHECK(fit.valid());

    CHECK_FALSE(fit.shrink(c.address, 1025));
    CHECK_FALSE(fit.shrink(c.address, most));
    CHECK_FALSE(fit.shrink(b.address, 1));
    CHECK(fit.shrink(c.address, 1024));
    CHECK(fit.shrink(c.address, 0)); // to one unit; its rest joins what is behind
    CHECK(fit.bytes_of(c.address) == 256);
    CHECK(fit.free_runs(0) == 1);
    CHECK(fit.largest().bytes == 5 * 256);
    CHECK(fit.shrink(a.address, 256));
    CHECK(fit.free_runs(0) == 2);
    CHECK(fit.live_bytes() == 2 * 256);
    CHECK(fit.bytes_of(b.address) == 0);
    CHECK(fit.valid());
}

TEST_CASE("runs are reported in the order of their addresses, and a visit can end early", "[heap][fit]") {
    runs fit{256};
    REQUIRE(fit.add(base + 65536, 4096, 2));
    REQUIRE(fit.add(base, 4096, 1));
    const auto a = fit.allocate(4096, 256), b = fit.allocate(1024, 256);
    CHECK(a.address == base);
    CHECK(b.address == base + 65536);
    std::vector<std::uintptr_t> seen;
    std::size_t live = 0;
    fit.visit([&](const runs::run& r, bool is_live, std::uint32_t segment) {
        CHECK(segment == (r.address < base + 65536 ? 1U : 2U));
        seen.push_back(r.address);
        live += is_live ? r.bytes : 0;
        return true;
    });
    CHECK(seen == std::vector{base, base + 65536, base + 65536 + 1024});
    CHECK(live == fit.live_bytes());
    int visits = 0;
    fit.visit([&](const runs::run&, bool, std::uint32_t) { return ++visits != 2; });
    CHECK(visits == 2);
}

namespace {

void make_many(int order) {
    constexpr std::size_t n = 1 << 14;
    runs fit{256};
    REQUIRE(fit.reserve(2 * n));
    REQUIRE(fit.add(base, 2 * n * 256, 0));
    for (std::size_t i = 0; i < 2 * n; ++i) REQUIRE(fit.allocate(256, 256));
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = order == 0   ? i
                               : order == 1 ? n - 1 - i
                               : order == 2 ? i * 5 % n
                                            : i / 2 + (i % 2) * (n / 2);
        REQUIRE(fit.release(base + 2 * at * 256));
    }
    CHECK(fit.free_runs(0) == n); // all of one size: one tree
    CHECK(fit.max_depth() >= 14);
    CHECK(fit.max_depth() <= 3 * 14);
    CHECK(fit.valid());
    for (std::size_t i = 0; i < n; ++i) REQUIRE(fit.allocate(1, 1).address == base + 2 * i * 256); // the lowest first
    CHECK(fit.free_bytes() == 0);
    CHECK(fit.valid());
}

} // namespace

TEST_CASE("an index of many runs is as flat as promised, in whatever order they came", "[heap][fit]") {
    for (const int order : {0, 1, 2, 3}) make_many(order);
}
