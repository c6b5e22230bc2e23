// Planned failures, lost devices, counted calls and charged time.
#include <support/simulated_machine.hpp>

using namespace allot::literals;
namespace device = allot::device;
using device::call;
using device::failure;

TEST_CASE("the k-th call of a kind fails, once or some times", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream();
    const auto e = m.make_event();
    m.sim.fail(call::create, {.nth = 3, .kind = failure::out_of_memory, .times = 2});
    std::vector<bool> good;
    for (int i = 0; i != 6; ++i) {
        REQUIRE(m.api.record(e, s)); // other calls do not count
        const auto r = m.api.create({0}, 2_MiB);
        good.push_back(static_cast<bool>(r));
        if (!r) CHECK(text_of_finding(r.error()) == "create: out of memory (code 2)");
    }
    CHECK(good == std::vector<bool>{true, true, false, false, true, true});
    CHECK(m.sim.count(call::create) == 6);
    CHECK(m.sim.count(call::record) == 6);
    CHECK(m.got(m.api.memory_of({0})).free_bytes == 16_GiB - 8_MiB); // those that failed took nothing
}

TEST_CASE("the k-th call of any kind fails", "[device]") {
    for (std::uint64_t k = 1; k != 8; ++k) {
        simulated_machine m;
        m.sim.fail_any({.nth = k, .kind = failure::other});
        std::uint64_t failed = 0, n = 0;
        const auto step = [&](const auto& r) {
            if (++n; !r) failed = n;
            return r;
        };
        const auto s = step(m.api.create_stream({0}, device::stream_kind::blocking));
        const auto e = step(m.api.create_event({0}));
        const auto p = step(m.api.allocate({0}, 64));
        (void)step(m.api.record(e.value_or({}), s.value_or({})));
        (void)step(m.api.fill_async(p.value_or(nullptr), 0, 64, s.value_or({})));
        (void)step(m.api.query(e.value_or({})));
        (void)step(m.api.deallocate({0}, p.value_or(nullptr)));
        CHECK(failed >= k); // that one, and what needed it
        if (k >= 4) CHECK(failed == k);
    }
}

TEST_CASE("a sticky error stays", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream();
    m.sim.fail(call::synchronize_stream, {.kind = failure::device_lost, .sticky = true});
    CHECK(m.api.allocate({0}, 64));
    CHECK(m.api.synchronize(s).kind() == failure::device_lost);
    CHECK(m.api.synchronize(s).kind() == failure::device_lost);
    CHECK(m.api.allocate({0}, 64).kind() == failure::device_lost);
    CHECK(m.api.memory_of({0}).kind() == failure::device_lost);
    m.sim.revive();
    CHECK(m.api.allocate({0}, 64));
    m.sim.lose();
    CHECK(m.api.create_event({0}).kind() == failure::device_lost);
}

TEST_CASE("events can run out", "[device]") {
    simulated_machine m{{.max_events = 2}};
    const auto e = m.make_event();
    (void)m.make_event();
    CHECK(m.api.create_event({0}).kind() == failure::out_of_memory);
    REQUIRE(m.api.destroy_event(e));
    CHECK(m.api.create_event({0}));
}

TEST_CASE("calls cost what they are said to cost", "[device]") {
    simulated_machine m;
    m.sim.charge(call::allocate, 80'000);
    m.sim.charge(call::record, 500);
    const auto s = m.make_stream();
    const auto e = m.make_event();
    CHECK(m.sim.now() == 0);
    (void)m.allocate(64);
    (void)m.allocate(64);
    for (int i = 0; i != 3; ++i) REQUIRE(m.api.record(e, s));
    CHECK(m.sim.now() == 161'500);
}

TEST_CASE("queued work must not call the device", "[device]") {
    for (const auto execution : {device::execution::immediate, device::execution::delayed}) {
        simulated_machine m{{.execution = execution}};
        const auto s = m.make_stream();
        failure got{};
        REQUIRE(m.sim.launch(s, {}, {}, [&] { got = m.api.allocate({0}, 64).kind(); }));
        REQUIRE(m.api.synchronize(s));
        CHECK(got == failure::not_permitted);
    }
}
