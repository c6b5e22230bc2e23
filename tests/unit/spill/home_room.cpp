// A store hears of room in its home's account: of what was asked for last, whoever asks at the same time.
#include <support/catch.hpp>
#include <support/hooked_home.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>
#include <allot/spill/home_room.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <cstddef>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;

using allot::account;
using allot::limit;
using allot::name;

TEST_CASE("room at home is waited for as it was asked for last, also by several threads", "[spill]") {
    STATIC_REQUIRE(sizeof(allot::detail::home_room) <= 512);
    account engine{name{"engine"}}, away{name{"away"}, limit{1000}}, other{away, name{"other"}};
    allot::detail::home_room room{engine, away};
    const allot::detail::account_tree& tree = away.node().tree();
    REQUIRE(other.try_charge(1000));
    room.tell_at(500);
    room.tell_at(100);
    other.refund(100);
    CHECK(!tree.has_waiters());
    REQUIRE(other.try_charge(100));
    std::vector<std::jthread> all;
    for (std::size_t t = 0; t != 4; ++t)
        all.emplace_back([&, t] {
            for (std::size_t i = 0; i != 500; ++i) room.tell_at(200 + 100 * t);
        });
    all.clear();
    CHECK(tree.has_waiters());
    room.tell_at(100);
    other.refund(100);
    CHECK(!tree.has_waiters());
    other.refund(900);
}

TEST_CASE("what has become unused, or may be freed, at a home makes the store's account ask again",
          "[spill][reclaim]") {
    // What frees nothing there, but says so.
    struct counts final : allot::reclaimer {
        counts() : reclaimer("counts") {}
        bool reclaim(const allot::shortage&) noexcept override { return false; }
    } asked, at_home;
    account engine{name{"engine"}, limit{100}}, query{engine, name{"query"}};
    account away{name{"away"}, limit{1000}}, other{away, name{"other"}};
    allot::detail::home_room room{engine, away};
    REQUIRE(other.try_charge(1000));
    REQUIRE(engine.try_charge(100));
    engine.add(asked), away.add(at_home);
    int calls = 0;
    allot::reservation_request later{[&](allot::account_reservation) { ++calls; }};
    CHECK(query.reserve_for(50, later).status().outcome == allot::charge_outcome::queued);
    room.tell_at(500);
    const std::size_t before = asked.calls();
    away.notify_unused();
    CHECK(asked.calls() == before + 2); // the reservation in the other tree
    CHECK(at_home.calls() == 0);        // nothing is freed for what only looks
    CHECK(!away.node().tree().has_waiters());
    away.notify_unused();
    CHECK(asked.calls() == before + 2);
    room.tell_at(500);
    other.refund(500);
    CHECK(asked.calls() == before + 4);
    CHECK(calls == 0);
    engine.refund(100);
    CHECK(calls == 1);
    other.refund(500);
    engine.remove(asked), away.remove(at_home);
}

TEST_CASE("an object that is put, and one whose pin ends, leaves for a queued reservation", "[spill][reclaim]") {
    account engine{name{"engine"}, limit{64_KiB}}, disk{name{"disk"}}, query{engine, name{"query"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    support::hooked_home home{disk};
    allot::store inputs{engine, home, name{"inputs"}};
    int calls = 0;
    allot::reservation_request later{[&](allot::account_reservation r) { calls += bool(r); }};
    const auto is_queued = [&] {
        return query.reserve_for(40_KiB, later).status().outcome == allot::charge_outcome::queued;
    };
    std::optional<allot::stored<allot::buffer>> kept;
    allot::buffer b = memory.allocate(engine, 48_KiB);
    CHECK(is_queued());
    kept.emplace(inputs.put(std::move(b)));
    CHECK(calls == 1);
    CHECK(kept->is_away());
    {
        const auto pin = kept->pin();
        CHECK(is_queued());
        CHECK(calls == 1);
    }
    CHECK(calls == 2);
    CHECK(kept->is_away());
}
