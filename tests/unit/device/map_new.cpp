// Memory that is new where it is mapped: all of it, or nothing, whichever step fails; and where an api comes from.
#include <support/simulated_machine.hpp>

#include <allot/device/api_argument.hpp>
#include <allot/device/map_new.hpp>

#include <cstdint>
#include <type_traits>

using namespace allot::literals;
namespace device = allot::device;
using allot::detail::map_new;
using device::call;
using device::failure;

namespace {

constexpr std::size_t g = 2_MiB;

struct space : simulated_machine {
    void* const at = got(api.reserve({0}, 2 * g, 0));

    std::size_t taken() { return 16_GiB - got(api.memory_of({0})).free_bytes; }
    std::uint64_t count(call c) { return sim.count(c); }
    ~space() {
        CHECK(api.free_address(at, 2 * g));
        CHECK(sim.hazards() == 0);
        CHECK(sim.leaks() == 0);
    }
};

struct stateful { // an api of any kind, as far as values go
    int number;
};
struct stateless {};

} // namespace

TEST_CASE("new memory is mapped, usable by its device, and goes when it is unmapped", "[device]") {
    space m;
    REQUIRE(map_new(m.api, {0}, m.at, g));
    CHECK(m.taken() == g);
    CHECK(m.sim.leaks() == 2); // the addresses and the mapping, no handle
    const auto s = m.make_stream();
    m.writes(s, m.at, g);
    m.reads(s, m.at, g);
    REQUIRE(m.api.synchronize(s));
    REQUIRE(m.api.unmap(m.at, g));
    CHECK(m.taken() == 0);
    REQUIRE(m.api.destroy_stream(s));
}

TEST_CASE("a step of new memory that fails is reported, and all before it is undone", "[device]") {
    for (const call step : {call::create, call::map, call::set_access, call::release})
        for (const failure kind : {failure::out_of_memory, failure::other}) {
            INFO(text_of(step) << ": " << text_of(kind));
            space m;
            m.sim.fail(step, {.kind = kind});
            const auto failed = map_new(m.api, {0}, m.at, g);
            REQUIRE(failed.kind() == kind);
            CHECK(std::string_view{failed.error().call} == text_of(step));
            CHECK(m.taken() == 0);
            CHECK(m.sim.leaks() == 1);             // the addresses
            REQUIRE(map_new(m.api, {0}, m.at, g)); // there is room for it where the other failed
            REQUIRE(m.api.unmap(m.at, g));
        }
}

TEST_CASE("a handle of new memory that the device refuses to take is offered once more, with and without a mapping",
          "[device]") {
    for (const call other : {call::map, call::set_access}) {
        INFO(text_of(other));
        space m;
        m.sim.fail(other, {.kind = failure::out_of_memory});
        m.sim.fail(call::release, {.kind = failure::other});
        CHECK(map_new(m.api, {0}, m.at, g).kind() == failure::out_of_memory); // what failed first is told
        CHECK(m.count(call::release) == 2);
        CHECK(m.taken() == 0);
    }
}

TEST_CASE("new memory where something is mapped changes nothing", "[device]") {
    space m;
    REQUIRE(map_new(m.api, {0}, m.at, g));
    CHECK(map_new(m.api, {0}, m.at, g).kind() == failure::invalid_value);
    CHECK(m.taken() == g);
    const auto s = m.make_stream();
    m.writes(s, m.at, g);
    REQUIRE(m.api.synchronize(s));
    REQUIRE(m.api.destroy_stream(s));
    REQUIRE(m.api.unmap(m.at, g));
}

TEST_CASE("the api of a product is the one that is given, in any place", "[device]") {
    simulated_machine a, b;
    const auto limit = allot::limit{1_MiB};
    CHECK(&allot::detail::api_argument<device::simulated>(limit, b.api).machine() == &b.sim);
    CHECK(&allot::detail::api_argument<device::simulated>(a.api, limit).machine() == &a.sim);
    stateful s{7};
    CHECK(allot::detail::api_argument<stateful>(s).number == 7);
    CHECK(allot::detail::api_argument<stateful>(limit).number == 0); // the compiler has refused the product by then
    static_assert(std::is_same_v<allot::detail::needed_api<stateful>, allot::types<stateful>>);
    static_assert(std::is_same_v<allot::detail::needed_api<device::simulated>, allot::types<device::simulated>>);
    static_assert(std::is_same_v<allot::detail::needed_api<stateless>, allot::types<>>);
    (void)allot::detail::api_argument<stateless>(limit);
}
