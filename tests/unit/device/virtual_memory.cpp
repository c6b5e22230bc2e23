// Virtual memory of the simulated device: each rule of CUDA's that a program can break, and the answer.
#include <support/simulated_machine.hpp>

using namespace allot::literals;
namespace device = allot::device;
using device::access;
using device::failure;
using device::hazard_kind;

namespace {
constexpr std::size_t g = 2_MiB;
}

TEST_CASE("sizes are multiples of the granularity", "[device]") {
    simulated_machine m;
    for (const std::size_t wrong : {std::size_t{0}, std::size_t{1}, g - 1, g + 4096}) {
        CHECK(m.api.reserve({0}, wrong, 0).kind() == failure::invalid_value);
        CHECK(m.api.create({0}, wrong).kind() == failure::invalid_value);
    }
    CHECK(m.api.reserve({0}, g, 3 * g).kind() == failure::invalid_value); // no power of two
    void* const p = m.got(m.api.reserve({0}, 4 * g, 64_MiB));
    CHECK(reinterpret_cast<std::uintptr_t>(p) % 64_MiB == 0);
    REQUIRE(m.api.free_address(p, 4 * g));
}

TEST_CASE("maps lie in a reservation, over nothing, and take the whole handle", "[device]") {
    simulated_machine m;
    auto* const p = static_cast<std::byte*>(m.got(m.api.reserve({0}, 4 * g, 0)));
    const auto h = m.got(m.api.create({0}, 2 * g));
    CHECK(m.api.map(p, h, g).kind() == failure::invalid_value);             // half of it
    CHECK(m.api.map(p + 4096, h, 2 * g).kind() == failure::invalid_value);  // not aligned
    CHECK(m.api.map(p + 3 * g, h, 2 * g).kind() == failure::invalid_value); // beyond the end
    CHECK(m.api.map(p - g, h, 2 * g).kind() == failure::invalid_value);
    REQUIRE(m.api.map(p + g, h, 2 * g));
    CHECK(m.api.map(p + g, h, 2 * g).kind() == failure::invalid_value); // over itself
    CHECK(m.api.map(p, h, 2 * g).kind() == failure::invalid_value);     // over a part
    CHECK(m.api.map(p + 2 * g, h, 2 * g).kind() == failure::invalid_value);
    CHECK(m.api.free_address(p, 4 * g).kind() == failure::invalid_value); // not empty
    CHECK(m.api.unmap(p + g, g).kind() == failure::invalid_value);        // half a mapping
    CHECK(m.api.unmap(p, 4 * g).kind() == failure::invalid_value);        // more than is mapped
    CHECK(m.api.set_access(p + g, g, {0}, access::read).kind() == failure::invalid_value);
    CHECK(m.api.set_access(p, g, {0}, access::read).kind() == failure::invalid_value);
    REQUIRE(m.api.release(h));
    CHECK(m.api.release(h).kind() == failure::invalid_handle);
    CHECK(m.api.map(p, h, 2 * g).kind() == failure::invalid_handle); // released, though it lives
    CHECK(m.got(m.api.memory_of({0})).free_bytes == 16_GiB - 2 * g);
    REQUIRE(m.api.unmap(p + g, 2 * g));
    CHECK(m.got(m.api.memory_of({0})).free_bytes == 16_GiB);              // now it went
    CHECK(m.api.free_address(p, 2 * g).kind() == failure::invalid_value); // not the whole
    REQUIRE(m.api.free_address(p, 4 * g));
    CHECK(m.api.free_address(p, 4 * g).kind() == failure::invalid_value);
    CHECK(m.sim.leaks() == 0);
}

TEST_CASE("mapped memory is used only by devices with access", "[device]") {
    simulated_machine m{{.devices = 2}};
    const auto s = m.make_stream(), other = m.make_stream(device::stream_kind::non_blocking, 1);
    auto* const p = static_cast<std::byte*>(m.got(m.api.reserve({0}, 2 * g, 0)));
    const auto h = m.got(m.api.create({0}, g));
    CHECK_FALSE(m.api.fill_async(p, 1, 64, s)); // not mapped
    CHECK(m.only(hazard_kind::not_allocated));
    REQUIRE(m.api.map(p, h, g));
    CHECK_FALSE(m.api.fill_async(p, 1, 64, s)); // no right yet
    CHECK(m.only(hazard_kind::no_access));
    int number = 0;
    CHECK_FALSE(m.api.copy_async(p, &number, 4, s));
    CHECK(m.only(hazard_kind::no_access));
    REQUIRE(m.api.set_access(p, g, {0}, access::read));
    m.reads(s, p, 64);
    CHECK_FALSE(m.api.fill_async(p, 1, 64, s));
    CHECK(m.only(hazard_kind::no_access));
    REQUIRE(m.api.set_access(p, g, {0}, access::read_write));
    REQUIRE(m.api.fill_async(p, 1, g, s));
    REQUIRE(m.api.synchronize(s));
    CHECK_FALSE(m.sim.launch(other, {{p, 64}}, {}));
    CHECK(m.only(hazard_kind::no_access));
    REQUIRE(m.api.set_access(p, g, {1}, access::read));
    m.reads(other, p, 64);
    CHECK_FALSE(m.api.fill_async(p + g - 32, 1, 64, s)); // beyond the mapping
    CHECK(m.only(hazard_kind::not_allocated));
    REQUIRE(m.api.set_access(p, g, {0}, access::none));
    CHECK_FALSE(m.sim.launch(s, {{p, 64}}, {}));
    CHECK(m.only(hazard_kind::no_access));
}

TEST_CASE("unmapping waits for nobody, so the program must", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream();
    auto* const p = static_cast<std::byte*>(m.got(m.api.reserve({0}, g, 0)));
    const auto h = m.got(m.api.create({0}, g));
    REQUIRE(m.api.map(p, h, g));
    REQUIRE(m.api.set_access(p, g, {0}, access::read_write));
    REQUIRE(m.api.fill_async(p, 1, 4096, s));
    SECTION("not waited for") {
        REQUIRE(m.api.unmap(p, g));
        CHECK_THAT(text_of_finding(m.found().at(0)),
                   ContainsSubstring(
                       "\"unmap\" of the host unmaps memory before the host has waited for: \"fill\" (stream 1"));
        CHECK(m.only(hazard_kind::unmapped_while_used));
    }
    SECTION("waited for") {
        REQUIRE(m.api.synchronize(s));
        REQUIRE(m.api.unmap(p, g));
        CHECK(m.sim.hazards() == 0);
        CHECK_FALSE(m.sim.launch(s, {{p, 64}}, {})); // use after unmap
        CHECK(m.only(hazard_kind::not_allocated));
    }
}

TEST_CASE("an operation over many mappings is followed in each", "[device]") {
    simulated_machine m;
    const auto a = m.make_stream(), b = m.make_stream();
    auto* const p = static_cast<std::byte*>(m.got(m.api.reserve({0}, 8 * g, 0)));
    for (std::size_t i = 0; i != 8; ++i) {
        const auto h = m.got(m.api.create({0}, g));
        REQUIRE(m.api.map(p + i * g, h, g));
        REQUIRE(m.api.release(h));
    }
    REQUIRE(m.api.set_access(p, 8 * g, {0}, access::read_write));
    REQUIRE(m.api.fill_async(p + g / 2, 1, 7 * g, a));
    CHECK(p[g / 2 + 7 * g - 1] == std::byte{1});
    CHECK(p[g / 2 + 7 * g] == std::byte{0});
    m.writes(b, p, g / 2);
    m.writes(b, p + 7 * g + g / 2, g / 2);
    CHECK(m.sim.hazards() == 0);
    m.writes(b, p + 3 * g, 1);
    CHECK(m.only(hazard_kind::not_ordered));
    REQUIRE(m.api.synchronize(allot::device_id{0}));
    REQUIRE(m.api.unmap(p, 2 * g));
    m.writes(a, p + 2 * g, 6 * g); // the others are as they were
    CHECK(m.sim.hazards() == 0);
    REQUIRE(m.api.synchronize(a));
    REQUIRE(m.api.unmap(p + 2 * g, 6 * g));
    CHECK(m.sim.hazards() == 0);
    CHECK(m.got(m.api.memory_of({0})).free_bytes == 16_GiB);
    REQUIRE(m.api.free_address(p, 8 * g));
}
