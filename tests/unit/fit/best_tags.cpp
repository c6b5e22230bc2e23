// fit::best with tags, as a stream-ordered allocator uses them.
#include <support/catch.hpp>
#include <support/failing_metadata.hpp>
#include <support/stream_tag.hpp>

#include <allot/fit/best.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace {

constexpr std::uintptr_t base = 0x10'0000'0000;
constexpr auto at = [](std::size_t unit) { return base + unit * 256; };
using runs = allot::detail::best_fit_runs<stream_tag>;

// 16 live runs of one unit.
void fill(runs& fit) {
    for (const std::uint32_t key : {0U, 1U, 2U}) REQUIRE(fit.open(key));
    REQUIRE(fit.add(base, 16 * 256, 0));
    for (int i = 0; i < 16; ++i) REQUIRE(fit.allocate(256, 256, 0));
}

} // namespace

TEST_CASE("a key finds its own free runs, and allocate_any the best of all", "[heap][fit]") {
    runs fit{256};
    fill(fit);
    for (const std::size_t i : {0U, 1U, 2U}) REQUIRE(fit.release(at(i), {1, 10 + i}));
    for (const std::size_t i : {4U, 5U}) REQUIRE(fit.release(at(i), {2, 20 + i}));
    CHECK(fit.valid());
    CHECK(fit.largest(1).bytes == 3 * 256);
    CHECK(fit.largest(2).bytes == 2 * 256);
    CHECK(fit.largest().bytes == 3 * 256);
    CHECK(fit.free_bytes(1) == 3 * 256);
    CHECK(fit.free_bytes(0) == 0);
    CHECK_FALSE(fit.allocate(256, 256, 0));
    CHECK_FALSE(fit.allocate(3 * 256, 256, 2));
    CHECK_FALSE(fit.allocate(256, 256, 77)); // never opened

    const auto own = fit.allocate(256, 256, 1);
    CHECK(own.address == at(0));
    CHECK(own.tag == stream_tag{1, 12}); // what to wait for: the latest of those that were joined
    const auto any = fit.allocate_any(2 * 256, 256);
    CHECK(any.address == at(1)); // of two that fit the lower one
    CHECK(any.tag == stream_tag{1, 12});
    const auto other = fit.allocate_any(1, 256);
    CHECK(other.address == at(4));
    CHECK(other.tag == stream_tag{2, 25});
    CHECK(fit.largest(2).tag == stream_tag{2, 25}); // the rest keeps it
    CHECK_FALSE(fit.allocate_any(2 * 256, 256));
    CHECK(fit.valid());
}

TEST_CASE("a part of a free run that is named is taken, and no other", "[heap][fit]") {
    runs fit{256};
    fill(fit);
    for (std::size_t i = 4; i != 8; ++i) REQUIRE(fit.release(at(i), {1, i}));
    const auto free = fit.largest(1);
    CHECK_FALSE(fit.allocate_at(free, at(3), 256));
    CHECK_FALSE(fit.allocate_at(free, at(8), 256));
    CHECK_FALSE(fit.allocate_at(free, at(9), 256));
    CHECK_FALSE(fit.allocate_at(free, at(7), 257));
    CHECK_FALSE(fit.allocate_at(free, at(5) + 1, 1));
    CHECK_FALSE(fit.allocate_at({at(5), 256, {1, 7}}, at(5), 256)); // no run
    CHECK(fit.valid());
    const auto part = fit.allocate_at(free, at(5), 257);
    CHECK(part.address == at(5));
    CHECK(part.bytes == 512);
    CHECK(part.tag == stream_tag{1, 7});
    CHECK(fit.free_runs(1) == 2);
    CHECK(fit.valid());
    CHECK(fit.allocate_at({at(7), 256, {1, 7}}, at(7), 256).address == at(7)); // the whole of one
    CHECK(fit.release(at(5), {1, 8}) == 512);
    CHECK(fit.valid());
}

TEST_CASE("free runs side by side are joined where their tags allow it only", "[heap][fit]") {
    runs fit{256};
    fill(fit);
    for (std::size_t i = 0; i < 6; ++i) REQUIRE(fit.release(at(i), {static_cast<std::uint32_t>(i % 2 + 1), i}));
    CHECK(fit.free_runs(1) == 3);
    CHECK(fit.free_runs(2) == 3);
    CHECK_FALSE(fit.allocate_any(512, 256));
    CHECK(fit.valid());
    // Stream 2 was waited for by stream 1.
    for (const std::size_t i : {1U, 3U, 5U}) CHECK(fit.retag({at(i), 256, {2, i}}, {1, 9}));
    CHECK(fit.free_runs(2) == 0);
    CHECK(fit.free_runs(1) == 1);
    CHECK(fit.largest().bytes == 6 * 256);
    CHECK(fit.largest().tag == stream_tag{1, 9});
    CHECK_FALSE(fit.retag({at(1), 256, {2, 1}}, {1, 9}));        // is part of a larger one
    CHECK_FALSE(fit.retag({at(0), 6 * 256, {1, 9}}, {1000, 9})); // not open
    CHECK_FALSE(fit.retag({at(8), 256, {1, 9}}, {2, 9}));        // live
    CHECK(fit.valid());
}

TEST_CASE("gathered runs have one tag and are one where they touch", "[heap][fit]") {
    runs fit{256};
    fill(fit);
    for (std::size_t i = 0; i < 16; ++i)
        if (i != 7 && i != 12) REQUIRE(fit.release(at(i), {static_cast<std::uint32_t>(i % 3), i}));
    CHECK(fit.largest().bytes == 256);
    CHECK_FALSE(fit.gather({1000, 20}, [](const stream_tag&) { return true; })); // not open
    CHECK(fit.gather({2, 20}, [](const stream_tag& tag) { return tag.ticket > 1 && tag.ticket < 12; }));
    CHECK(fit.valid());
    CHECK(fit.largest().address == at(2));
    CHECK(fit.largest().bytes == 5 * 256);
    CHECK(fit.largest().tag == stream_tag{2, 20});
    CHECK(fit.free_bytes(2) == (5 + 4 + 1) * 256); // 14 is the last of its own
    CHECK(fit.gather({1, 30}, [](const stream_tag&) { return true; }));
    CHECK(fit.free_runs(1) == 3);
    CHECK(fit.free_bytes(1) == 14 * 256);
    CHECK(fit.largest().tag == stream_tag{1, 30});
    CHECK(fit.valid());
}

TEST_CASE("what became one waits for the latest of its parts", "[heap][fit]") {
    const unsigned orders[][3] = {{4, 5, 6}, {4, 6, 5}, {5, 4, 6}, {5, 6, 4}, {6, 4, 5}, {6, 5, 4}};
    for (const auto& order : orders)
        for (const std::size_t latest : {4U, 5U, 6U}) {
            runs fit{256};
            fill(fit);
            for (const std::size_t i : order) REQUIRE(fit.release(at(i), {1, i == latest ? 9 : i}));
            CHECK(fit.allocate(1, 1, 1).tag == stream_tag{1, 9});
            CHECK(fit.valid());
        }
}

TEST_CASE("a release under a key that is not open changes nothing", "[heap][fit]") {
    runs fit{256};
    fill(fit);
    CHECK(fit.release(at(3), {3, 1}) == 0);
    CHECK(fit.release(at(3), {~0U, 1}) == 0);
    CHECK(fit.bytes_of(at(3)) == 256);
    CHECK(fit.valid());
    CHECK_FALSE(fit.open(runs::max_keys));
    CHECK(fit.open(runs::max_keys - 1));
    CHECK(fit.is_open(runs::max_keys - 1));
    CHECK_FALSE(fit.is_open(runs::max_keys - 2));
    CHECK(fit.release(at(3), {runs::max_keys - 1, 1}) == 256);
    CHECK(fit.allocate_any(256, 256).tag.stream == runs::max_keys - 1);
    CHECK(fit.valid());
}

TEST_CASE("growing asks whether the free run's tag will do, shrinking leaves a tag", "[heap][fit]") {
    runs fit{256};
    fill(fit);
    REQUIRE(fit.release(at(1), {2, 5}));
    CHECK_FALSE(fit.grow(at(0), 512, [](const stream_tag& tag) { return tag.stream == 1; }));
    stream_tag met;
    CHECK(fit.grow(at(0), 512, [&](const stream_tag& tag) { return met = tag, true; }));
    CHECK(met == stream_tag{2, 5});
    CHECK_FALSE(fit.shrink(at(0), 256, {9, 7})); // not open
    CHECK(fit.shrink(at(0), 256, {1, 7}));
    CHECK(fit.largest(1).tag == stream_tag{1, 7});
    CHECK(fit.valid());
}

TEST_CASE("large free runs of a key are visited, the smallest first", "[heap][fit]") {
    runs fit{256};
    for (const std::uint32_t key : {0U, 1U}) REQUIRE(fit.open(key));
    std::size_t from = 0;
    for (const std::size_t units : {5U, 900U, 3U, 70U, 900U, 64U, 40'000U, 4U}) {
        REQUIRE(fit.add(at(from), units * 256, 0, {units == 70U, 1}));
        from += units + 1;
    }
    std::vector<std::size_t> units;
    const auto note = [&](const runs::run& r) {
        CHECK(r.tag.stream == 0);
        units.push_back(r.bytes / 256);
        return units.size() != 5;
    };
    fit.visit_free(0, 5 * 256 - 10, note);
    CHECK(units == std::vector<std::size_t>{5, 64, 900, 900, 40'000});
    units.clear();
    fit.visit_free(0, 0, note);
    CHECK(units == std::vector<std::size_t>{3, 4, 5, 64, 900}); // ended by itself
    units.clear();
    fit.visit_free(0, 40'001 * 256, note);
    fit.visit_free(2, 0, note);
    fit.visit_free(0, ~std::size_t{0}, note);
    CHECK(units.empty());
}

TEST_CASE("a live run has its tag to read and write", "[heap][fit]") {
    runs fit{256};
    fill(fit);
    REQUIRE(fit.tag_of(at(2)) != nullptr);
    CHECK(*fit.tag_of(at(2)) == stream_tag{0, 0});
    *fit.tag_of(at(2)) = {2, 33};
    bool found = false;
    fit.visit([&](const runs::run& r, bool live, std::uint32_t) {
        found = found || (r.address == at(2) && live && r.tag == stream_tag{2, 33});
        return true;
    });
    CHECK(found);
    CHECK(fit.tag_of(at(2) + 1) == nullptr);
    CHECK(fit.release(at(2), {1, 1}) == 256);
    CHECK(fit.valid());
}

TEST_CASE("a part of a range goes back with its tag left on both sides", "[heap][fit]") {
    runs fit{256};
    REQUIRE(fit.add(base, 16 * 256, 0, {1, 4}));
    REQUIRE(fit.remove({base, 16 * 256, {1, 4}}, at(4), 4 * 256));
    CHECK(fit.allocate(8 * 256, 256, 1).tag == stream_tag{1, 4});
    CHECK(fit.allocate(4 * 256, 256, 1).tag == stream_tag{1, 4});
    REQUIRE(fit.open(2));
    REQUIRE(fit.add(at(4), 4 * 256, 0, {2, 6}));
    CHECK(fit.ranges() == 1);
    CHECK(fit.valid());
}

TEST_CASE("a key's index that cannot be allocated is reported when it is opened", "[heap][fit]") {
    failing_metadata::state memory;
    {
        allot::detail::best_fit_runs<stream_tag, failing_metadata> fit{256, {&memory}};
        REQUIRE(fit.add(base, 4096, 0, {0, 1}));
        const auto r = fit.allocate(256, 256, 0);
        memory.left = 0;
        CHECK_FALSE(fit.open(1));
        CHECK_FALSE(fit.add(at(64), 4096, 0, {1, 1}));
        CHECK_FALSE(fit.release(r.address, {1, 1}));
        CHECK(fit.valid());
        memory.left = 1;
        CHECK_FALSE(fit.open(1000)); // the array of indexes can be had, the index not
        CHECK(fit.valid());
        CHECK(fit.release(r.address, {0, 1}));
        memory.left = -1;
        CHECK(fit.open(1000));
        CHECK(fit.valid());
        CHECK(memory.held == fit.metadata_bytes());
    }
    CHECK(memory.held == 0);
}
