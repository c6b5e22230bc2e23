// Who is ordered after whom: each way to order two operations, and the hazard where it is missing.
#include <support/simulated_machine.hpp>

#include <thread>

using namespace allot::literals;
namespace device = allot::device;
using device::hazard_kind;
using device::stream_kind;

TEST_CASE("an event orders two streams, and nothing else does", "[device]") {
    simulated_machine m;
    const auto a = m.make_stream(), b = m.make_stream();
    std::byte* const p = m.allocate(1_MiB);
    m.writes(a, p, 4096, "producer");

    SECTION("no event") {
        m.reads(b, p, 4096, "consumer");
        REQUIRE(m.sim.hazards() == 1);
        const device::hazard h = m.found()[0];
        CHECK(h.kind == hazard_kind::not_ordered);
        CHECK(h.address == p);
        CHECK(h.bytes == 4096);
        CHECK_FALSE(h.event_recorded);
        const std::string text = text_of_finding(h);
        CHECK_THAT(text, ContainsSubstring("4 KiB at 0x"));
        CHECK_THAT(
            text,
            ContainsSubstring(
                "\"consumer\" (stream 2, operation 1) is not ordered after \"producer\" (stream 1, operation 1)"));
        CHECK_THAT(text, ContainsSubstring("no event was recorded on stream 1 after it"));
    }
    SECTION("an event that nobody waits for") {
        REQUIRE(m.api.record(m.make_event(), a));
        m.reads(b, p, 4096);
        REQUIRE(m.sim.hazards() == 1);
        CHECK_THAT(text_of_finding(m.found()[0]),
                   ContainsSubstring("stream 2 waited for no event recorded on stream 1 after it"));
    }
    SECTION("an event recorded too early") {
        const auto e = m.make_event();
        REQUIRE(m.api.record(e, a));
        m.writes(a, p, 4096);
        REQUIRE(m.api.wait(b, e));
        m.reads(b, p, 4096);
        CHECK(m.only(hazard_kind::not_ordered));
    }
    SECTION("an event waited for before it was recorded again") {
        const auto e = m.make_event();
        REQUIRE(m.api.record(e, a));
        REQUIRE(m.api.wait(b, e));
        m.writes(a, p, 4096);
        REQUIRE(m.api.record(e, a));
        m.reads(b, p, 4096);
        CHECK(m.only(hazard_kind::not_ordered));
    }
    SECTION("an event that the wrong stream waits for") {
        const auto c = m.make_stream();
        m.order(a, c);
        m.reads(b, p, 4096);
        CHECK(m.only(hazard_kind::not_ordered));
    }
    SECTION("the event that is needed") {
        m.order(a, b);
        m.reads(b, p, 4096);
        CHECK(m.sim.hazards() == 0);
    }
    SECTION("by way of a third stream") {
        const auto c = m.make_stream();
        m.order(a, c);
        m.order(c, b);
        m.writes(b, p, 4096);
        CHECK(m.sim.hazards() == 0);
    }
    SECTION("the host in between") {
        REQUIRE(m.api.synchronize(a));
        m.writes(b, p, 4096);
        CHECK(m.sim.hazards() == 0);
    }
    SECTION("the host waits for an event") {
        const auto e = m.make_event();
        REQUIRE(m.api.record(e, a));
        REQUIRE(m.api.synchronize(e));
        m.writes(b, p, 4096);
        CHECK(m.sim.hazards() == 0);
    }
    SECTION("the host is told that an event is done") {
        const auto e = m.make_event();
        REQUIRE(m.api.record(e, a));
        CHECK(m.got(m.api.query(e)));
        m.writes(b, p, 4096);
        CHECK(m.sim.hazards() == 0);
    }
    SECTION("the whole device") {
        REQUIRE(m.api.synchronize(allot::device_id{0}));
        m.writes(b, p, 4096);
        CHECK(m.sim.hazards() == 0);
    }
    SECTION("other bytes") {
        m.writes(b, p + 4096, 4096);
        CHECK(m.sim.hazards() == 0);
    }
    SECTION("one byte of them") {
        m.writes(b, p + 4095, 4096);
        const device::hazard h = m.found().at(0);
        CHECK(h.address == p + 4095);
        CHECK(h.bytes == 1);
        CHECK(m.only(hazard_kind::not_ordered));
    }
}

TEST_CASE("readers do not disturb each other, a writer needs them all", "[device]") {
    simulated_machine m;
    std::byte* const p = m.allocate(4096);
    std::vector<simulated_machine::stream> readers;
    for (int i = 0; i != 5; ++i) {
        readers.push_back(m.make_stream());
        m.reads(readers.back(), p, 4096);
    }
    CHECK(m.sim.hazards() == 0);
    const auto w = m.make_stream();
    for (int i = 0; i != 4; ++i) m.order(readers[static_cast<std::size_t>(i)], w);
    m.writes(w, p, 4096);
    CHECK(m.only(hazard_kind::not_ordered)); // the fifth
    m.order(w, readers[4]);
    m.writes(readers[4], p, 4096);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("the legacy default stream orders blocking streams, both ways", "[device]") {
    simulated_machine m{{.devices = 2}};
    std::byte* const p = m.allocate(4096);
    const auto a = m.make_stream(stream_kind::blocking), b = m.make_stream(stream_kind::blocking);
    m.writes(a, p, 64);
    m.writes(m.api.legacy_stream(), p, 64);
    m.writes(b, p, 64);
    m.writes(m.api.per_thread_stream(), p, 64);
    CHECK(m.only(hazard_kind::not_ordered)); // the per-thread stream and b are both blocking, and nothing is between
    m.writes(m.api.legacy_stream(), p, 64);
    m.writes(m.api.per_thread_stream(), p, 64);
    CHECK(m.sim.hazards() == 0);

    const auto apart = m.make_stream(stream_kind::non_blocking);
    m.writes(apart, p, 64);
    CHECK(m.only(hazard_kind::not_ordered));
    m.writes(m.api.legacy_stream(), p, 64);
    CHECK(m.only(hazard_kind::not_ordered));

    // Another device has its own.
    REQUIRE(m.api.enable_peer({1}, {0}));
    REQUIRE(m.api.set_current({1}));
    m.writes(m.api.legacy_stream(), p, 64);
    CHECK(m.only(hazard_kind::not_ordered));
}

TEST_CASE("an event on the legacy stream stands for all blocking streams, gone ones too", "[device]") {
    simulated_machine m;
    std::byte* const p = m.allocate(4096);
    const auto a = m.make_stream(stream_kind::blocking);
    m.writes(a, p, 64);
    REQUIRE(m.api.destroy_stream(a));
    const auto b = m.make_stream();
    SECTION("with it") {
        m.order(m.api.legacy_stream(), b);
        m.writes(b, p, 64);
        CHECK(m.sim.hazards() == 0);
    }
    SECTION("without") {
        m.writes(b, p, 64);
        CHECK(m.only(hazard_kind::not_ordered)); // its work may still run
    }
    SECTION("the device's synchronisation knows them, too") {
        REQUIRE(m.api.synchronize(allot::device_id{0}));
        m.writes(b, p, 64);
        CHECK(m.sim.hazards() == 0);
    }
}

TEST_CASE("each thread has a default stream of its own", "[device]") {
    simulated_machine m;
    std::byte* const p = m.allocate(4096);
    m.writes(m.api.per_thread_stream(), p, 64);
    std::thread{[&] { (void)m.sim.launch(m.api.per_thread_stream(), {}, {{p, 64}}); }}.join();
    CHECK(m.only(hazard_kind::not_ordered));
}

TEST_CASE("the host waits before it touches pinned memory, and must not touch a device's", "[device]") {
    simulated_machine m;
    const auto a = m.make_stream();
    std::byte* const p = m.allocate(4096);
    auto* const pinned = static_cast<std::byte*>(m.got(m.api.allocate_pinned(4096)));
    m.sim.host_writes(pinned, 4096);
    REQUIRE(m.api.copy_async(p, pinned, 4096, a)); // later work of the host's streams is ordered
    m.sim.host_reads(pinned, 4096);                // readers both
    CHECK(m.sim.hazards() == 0);
    m.sim.host_writes(pinned, 64, "refill");
    CHECK_THAT(text_of_finding(m.found().at(0)),
               ContainsSubstring("\"refill\" of the host is not ordered after \"copy\" (stream 1"));
    CHECK_THAT(text_of_finding(m.found().at(0)),
               ContainsSubstring("the host waited neither for stream 1 nor for an event after it"));
    CHECK(m.only(hazard_kind::not_ordered));
    REQUIRE(m.api.copy_async(pinned, p, 4096, a));
    m.sim.forget_hazards();
    m.sim.host_reads(pinned, 4096);
    CHECK(m.only(hazard_kind::not_ordered));
    REQUIRE(m.api.synchronize(a));
    m.sim.host_reads(pinned, 4096);
    CHECK(m.sim.hazards() == 0);
    m.sim.host_reads(p, 64);
    CHECK(m.only(hazard_kind::no_access));
    int number = 0;
    REQUIRE(m.api.copy_async(&number, p, sizeof number, a)); // into memory that is not pinned: it waits
    m.sim.host_writes(pinned, 4096);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("handles that are gone are reported", "[device]") {
    simulated_machine m{{.devices = 2}};
    const auto s = m.make_stream();
    const auto e = m.make_event();
    const auto on_other = m.make_event(1);
    CHECK(m.api.record(on_other, s).kind() == device::failure::invalid_handle); // another device's
    REQUIRE(m.api.destroy_event(e));
    CHECK(m.api.record(e, s).kind() == device::failure::invalid_handle);
    CHECK(m.api.destroy_event(e).kind() == device::failure::invalid_handle);
    const auto again = m.make_event(); // the same slot
    CHECK(m.api.wait(s, e).kind() == device::failure::invalid_handle);
    REQUIRE(m.api.record(again, s));
    REQUIRE(m.api.destroy_stream(s));
    CHECK(m.api.destroy_stream(s).kind() == device::failure::invalid_handle);
    CHECK(m.api.record(again, s).kind() == device::failure::invalid_handle);
    CHECK(m.api.stream_id(s).kind() == device::failure::invalid_handle);
    CHECK(m.api.destroy_stream(m.api.legacy_stream()).kind() == device::failure::invalid_handle);
    const auto next = m.make_stream();
    CHECK(m.got(m.api.stream_id(next)) != 2); // the id is not used again: 0 and 1 are the devices', 2 was s
}

TEST_CASE("waiting for a stream means its own work, and for the legacy one that of all blocking streams", "[device]") {
    for (const auto execution : {device::execution::immediate, device::execution::delayed}) {
        simulated_machine m{{.execution = execution}};
        const auto a = m.make_stream(stream_kind::blocking), b = m.make_stream(stream_kind::blocking),
                   apart = m.make_stream();
        std::byte* const p = m.allocate(4096);
        bool ran = false;
        REQUIRE(m.sim.launch(m.api.legacy_stream(), {}, {{p, 64}}, [&ran] { ran = true; }));
        REQUIRE(m.api.synchronize(b)); // which had nothing to do
        m.writes(apart, p, 64);
        CHECK(m.only(hazard_kind::not_ordered));
        ran = false;
        REQUIRE(m.sim.launch(a, {}, {{p + 64, 64}}, [&ran] { ran = true; }));
        REQUIRE(m.api.synchronize(m.api.legacy_stream()));
        CHECK(ran);
        m.writes(apart, p + 64, 64);
        CHECK(m.sim.hazards() == 0);
        ran = false;
        REQUIRE(m.sim.launch(apart, {}, {{p + 128, 64}}, [&ran] { ran = true; }));
        const auto e = m.make_event();
        REQUIRE(m.api.record(e, apart));
        REQUIRE(m.api.wait(b, e));
        REQUIRE(m.api.synchronize(b)); // the wait is all that it has to do
        CHECK(ran);
        m.writes(a, p + 128, 64);
        CHECK(m.sim.hazards() == 0);
        while (!m.got(m.api.query(m.api.legacy_stream()))) {
        }
        while (!m.got(m.api.query(apart))) {
        }
    }
}

TEST_CASE("what a non-blocking stream did before it went is no business of the legacy stream", "[device]") {
    simulated_machine m;
    std::byte* const p = m.allocate(64);
    const auto apart = m.make_stream();
    m.writes(apart, p, 64);
    REQUIRE(m.api.destroy_stream(apart));
    m.writes(m.api.legacy_stream(), p, 64);
    CHECK(m.only(hazard_kind::not_ordered));
}
