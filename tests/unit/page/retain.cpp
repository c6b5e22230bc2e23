// When an arena's free pages go back to the system: each answer of `retain`. At a limit: charge_by_commit.cpp.
#include <support/catch.hpp>

#include <allot/page/arena.hpp>

#include <cstring>

using namespace allot::literals;

namespace {

struct never_set : allot::policies<allot::retain::never> {};
struct on_call_set : allot::policies<allot::retain::on_call> {};
struct on_pressure_set : allot::policies<> {};

// Three pages, used and free.
template <class Set> struct three_free : allot::arena<Set> {
    three_free() : allot::arena<Set>{allot::page_bytes{64_KiB}} {
        std::byte* const all = this->take(3);
        std::memset(all, 1, 3 * 64_KiB);
        this->give(all, 3);
    }
};

} // namespace

TEST_CASE("never, and on call: when free pages go back", "[arena][retain]") {
    three_free<never_set> never;
    CHECK(never.trim() == 0);
    CHECK(never.stats().committed == 3 * 64_KiB);
    three_free<on_call_set> on_call;
    CHECK(on_call.trim() == 3 * 64_KiB);
    CHECK(on_call.stats().committed == 0);
    CHECK(on_call.stats().returned == 3 * 64_KiB);
}

TEST_CASE("an arena carries nothing for its retain rule", "[arena][retain]") {
    STATIC_REQUIRE(sizeof(allot::arena<on_call_set>) == sizeof(allot::arena<on_pressure_set>));
    STATIC_REQUIRE(sizeof(allot::arena<on_pressure_set>) == sizeof(allot::page_arena));
}
