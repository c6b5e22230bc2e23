#include <support/catch.hpp>

#include <allot/kernel/aggregated_fetch_add.hpp>
#include <allot/kernel/lanes.hpp>

#include <cstdint>

using namespace allot;

TEST_CASE("lanes of a group are counted, numbered, and led by the lowest", "[sync]") {
    STATIC_REQUIRE(count_of(0) == 0);
    STATIC_REQUIRE(count_of(~0U) == 32);
    STATIC_REQUIRE(leader_of(0x8000'0000U) == 31);
    STATIC_REQUIRE(leader_of(0b1011000) == 3);
    STATIC_REQUIRE(rank_in(0b1011000, 3) == 0);
    STATIC_REQUIRE(rank_in(0b1011000, 4) == 1);
    STATIC_REQUIRE(rank_in(0b1011000, 6) == 2);
    STATIC_REQUIRE(rank_in(~0U, 31) == 31);
    STATIC_REQUIRE(rank_in(~0U, 0) == 0);
}

TEST_CASE("a thread is a warp of one", "[sync]") {
    STATIC_REQUIRE(lanes<lone_lane>);
    STATIC_REQUIRE(std::is_empty_v<lone_lane>);
    STATIC_REQUIRE(lone_lane::active() == 1);
    STATIC_REQUIRE(lone_lane::match(1, 77) == 1);
    STATIC_REQUIRE(lone_lane::ballot(1, true) == 1);
    STATIC_REQUIRE(lone_lane::ballot(1, false) == 0);
    STATIC_REQUIRE(lone_lane::shuffle(1, 42, 0) == 42);
    lone_lane lane;
    std::uint64_t counter = 5;
    CHECK(aggregated_fetch_add<thread_scope::device>(lane, counter) == 5);
    CHECK(aggregated_fetch_add<thread_scope::system>(lane, counter, ordered::acq_rel) == 6);
    CHECK(counter == 7);
}
