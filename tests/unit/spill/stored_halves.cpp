// An input that leaves for far memory is cut there: its halves need no near memory before they are pinned.
#include <support/catch.hpp>

#include <allot/buffers.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <numeric>
#include <span>
#include <vector>

using namespace allot::literals;
using stored_buffer = allot::stored<allot::buffer>;

namespace {

struct homes {
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::account near{allot::name{"near"}, allot::limit{64_KiB}};
    allot::account far{allot::name{"far"}, allot::limit{256_KiB}};

    allot::spill_memory there{memory, far};
    allot::store inputs{near, there};

    stored_buffer make(std::size_t bytes) {
        allot::buffer b = memory.allocate(near, bytes);
        for (std::size_t i = 0; i != bytes; ++i) b.data()[i] = static_cast<std::byte>(i / 4);
        return inputs.put(std::move(b));
    }
};

} // namespace

TEST_CASE("the halves of a stored buffer hold its bytes, cut at a whole unit") {
    homes h;
    const stored_buffer whole = h.make(4 * 1001);
    std::vector<stored_buffer> parts = whole.halves(4);
    REQUIRE(parts.size() == 2);
    CHECK(whole.is_away());
    CHECK((parts[0].is_away() && parts[1].is_away()));
    CHECK(h.near.used() == 0);
    CHECK(parts[0].bytes() == 4 * 500);
    CHECK(parts[1].bytes() == 4 * 501);
    std::size_t at = 0;
    for (const stored_buffer& part : parts) {
        const auto pinned = part.pin();
        for (const std::byte b : pinned->bytes()) REQUIRE(b == static_cast<std::byte>(at++ / 4));
    }
    CHECK(at == whole.bytes());
    CHECK(h.near.used() != 0);
    CHECK(parts[1].spill());
    CHECK((parts[1].is_away() && !parts[0].is_away()));
}

TEST_CASE("halves are cut again after their whole has ended, and return far memory") {
    homes h;
    std::vector<stored_buffer> eighths;
    eighths.push_back(h.make(32_KiB));
    for (int i = 0; i != 3; ++i) {
        std::vector<stored_buffer> next;
        for (const stored_buffer& whole : eighths)
            for (stored_buffer& part : whole.halves()) next.push_back(std::move(part));
        eighths = std::move(next);
    }
    REQUIRE(eighths.size() == 8);
    CHECK(h.far.used() == 32_KiB); // one block, which all parts view
    std::size_t at = 0;
    for (const stored_buffer& part : eighths)
        for (const std::byte b : part.pin()->bytes()) REQUIRE(b == static_cast<std::byte>(at++ / 4));
    CHECK(h.far.used() == 0);
    CHECK(h.near.used() == 32_KiB);
    eighths.clear();
    CHECK(h.near.used() == 0);
}

TEST_CASE("a unit of 0 bytes is one byte") {
    homes h;
    const std::vector<stored_buffer> parts = h.make(5).halves(0);
    REQUIRE(parts.size() == 2);
    CHECK((parts[0].bytes() == 2 && parts[1].bytes() == 3));
    CHECK(h.make(1).halves(0).empty());
}

TEST_CASE("a pinned buffer has no halves, and keeps its bytes") {
    if (ALLOT_CHECKED != 0) return; // reported there, by abort
    homes h;
    const stored_buffer whole = h.make(1_KiB);
    {
        const auto pin = whole.pin();
        CHECK(whole.halves(4).empty());
        CHECK((!whole.is_away() && h.far.used() == 0));
        CHECK(pin->bytes()[8] == std::byte{2});
    }
    CHECK(whole.halves(4).size() == 2);
}

TEST_CASE("a buffer of less than two units has no halves; where far memory refuses, it stays") {
    homes h;
    CHECK(h.make(7).halves(4).empty());
    CHECK(h.make(1).halves().empty());
    const stored_buffer whole = h.make(1_KiB);
    h.far.set_limit(512);
    CHECK_THROWS_AS(whole.halves(), allot::memory_error);
    CHECK(!whole.is_away());
    CHECK(whole.pin()->bytes()[8] == std::byte{2});
}
