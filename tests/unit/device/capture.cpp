// Captures on the simulated device, beyond what the conformance suite asks of every device.
#include <support/simulated_machine.hpp>

#include <thread>

using namespace allot::literals;
namespace device = allot::device;
using device::capture_mode;
using device::capture_state;
using device::failure;

TEST_CASE("a capture forbids calls by its mode and the thread's", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream();
    const auto in_other_thread = [&](capture_mode mode) {
        failure got{};
        std::thread{[&] {
            (void)m.api.exchange_capture_mode(mode);
            got = m.api.allocate({0}, 64).kind();
        }}.join();
        return got;
    };
    SECTION("global: everybody's") {
        REQUIRE(m.api.begin_capture(s, capture_mode::global));
        CHECK(in_other_thread(capture_mode::relaxed) == failure::none);
        CHECK(in_other_thread(capture_mode::one_thread) == failure::none);
        CHECK(m.got(m.api.capturing(s)) == capture_state::active);
        CHECK(in_other_thread(capture_mode::global) == failure::not_permitted_in_capture);
        CHECK(m.got(m.api.capturing(s)) == capture_state::invalidated);
    }
    SECTION("one thread: its own") {
        REQUIRE(m.api.begin_capture(s, capture_mode::one_thread));
        CHECK(in_other_thread(capture_mode::global) == failure::none);
        CHECK(m.got(m.api.capturing(s)) == capture_state::active);
        CHECK(m.api.allocate({0}, 64).kind() == failure::not_permitted_in_capture);
    }
    SECTION("relaxed: nobody's") {
        REQUIRE(m.api.begin_capture(s, capture_mode::relaxed));
        CHECK(m.api.allocate({0}, 64));
        CHECK(m.got(m.api.capturing(s)) == capture_state::active);
    }
}

TEST_CASE("every unsafe call is refused in a global capture, with CUDA's code", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream(), other = m.make_stream();
    const auto e = m.make_event(), inside = m.make_event();
    std::byte* const p = m.allocate(4096);
    void* const pinned = m.got(m.api.allocate_pinned(64));
    void* const space = m.got(m.api.reserve({0}, 2_MiB, 0));
    const auto handle = m.got(m.api.create({0}, 2_MiB));
    REQUIRE(m.api.record(e, other));
    const auto refuses = [&](auto&& call, int code = 900) {
        REQUIRE(m.api.begin_capture(s, capture_mode::global));
        REQUIRE(m.api.record(inside, s));
        const device::error error = call().error();
        CHECK(error.kind == failure::not_permitted_in_capture);
        CHECK(error.native == code);
        CHECK(m.api.end_capture(s).error().native == 901); // invalidated
    };
    refuses([&] { return m.api.allocate({0}, 64); });
    refuses([&] { return m.api.deallocate({0}, p); });
    refuses([&] { return m.api.allocate_pinned(64); });
    refuses([&] { return m.api.deallocate_pinned(pinned); });
    refuses([&] { return m.api.create({0}, 2_MiB); });
    refuses([&] { return m.api.map(space, handle, 2_MiB); });
    refuses([&] { return m.api.release(handle); });
    refuses([&] { return m.api.synchronize(allot::device_id{0}); });
    refuses([&] { return m.api.synchronize(s); });
    refuses([&] { return m.api.query(s); });
    refuses([&] { return m.api.synchronize(other); });
    refuses([&] { return m.api.query(e); });
    refuses([&] { return m.api.synchronize(e); });
    refuses([&] { return m.api.query(inside); }, 907);
    refuses([&] { return m.api.wait(s, e); }, 905);
    refuses([&] { return m.api.destroy_stream(s); });
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("the legacy stream would wait for a blocking stream that is being captured", "[device]") {
    simulated_machine m;
    const auto blocking = m.make_stream(device::stream_kind::blocking), apart = m.make_stream();
    std::byte* const p = m.allocate(64);
    REQUIRE(m.api.begin_capture(apart, capture_mode::relaxed));
    REQUIRE(m.api.fill_async(p, 0, 64, m.api.legacy_stream()));
    REQUIRE(m.api.end_capture(apart));
    REQUIRE(m.api.begin_capture(blocking, capture_mode::relaxed));
    CHECK(m.api.fill_async(p, 0, 64, m.api.legacy_stream()).error().native == 906);
    CHECK(m.api.end_capture(blocking).error().native == 901);
}

TEST_CASE("a capture ends on the stream and thread that began it", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream(), joined = m.make_stream();
    const auto e = m.make_event();
    CHECK(m.api.end_capture(s).kind() == failure::invalid_value);
    REQUIRE(m.api.begin_capture(s, capture_mode::one_thread));
    CHECK_FALSE(m.api.begin_capture(s, capture_mode::one_thread)); // twice
    REQUIRE(m.api.record(e, s));
    REQUIRE(m.api.wait(joined, e));
    CHECK(m.api.end_capture(joined).error().native == 903);
    std::thread{[&] { CHECK_ON_THREAD(m.api.end_capture(s).error().native == 908); }}.join();
    CHECK(m.api.end_capture(s).error().native == 901); // they invalidated it
}

TEST_CASE("a launch of a graph uses the memory that its operations do", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream(), other = m.make_stream();
    std::byte* const p = m.allocate(4096);
    int ran = 0;
    REQUIRE(m.api.begin_capture(s, capture_mode::global));
    REQUIRE(m.sim.launch(s, {}, {{p, 64}}, [&] { ++ran; }));
    const auto graph = m.got(m.api.end_capture(s));
    CHECK(ran == 0);
    REQUIRE(m.api.launch_graph(graph, s));
    REQUIRE(m.api.launch_graph(graph, s));
    CHECK(ran == 2);
    CHECK(m.sim.hazards() == 0);
    m.reads(other, p, 64);
    CHECK(m.only(device::hazard_kind::not_ordered));
    m.sim.forget_hazards();
    REQUIRE(m.api.deallocate({0}, p));
    CHECK(m.api.launch_graph(graph, s).error().native == 700); // its memory has gone
    CHECK(ran == 2);
    CHECK(m.only(device::hazard_kind::not_allocated));
    REQUIRE(m.api.destroy_graph(graph));
    CHECK(m.api.launch_graph(graph, s).kind() == failure::invalid_handle);
}

TEST_CASE("an event that was recorded in a capture is of no use outside", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream(), other = m.make_stream();
    const auto e = m.make_event();
    REQUIRE(m.api.begin_capture(s, capture_mode::relaxed));
    REQUIRE(m.api.record(e, s));
    REQUIRE(m.api.end_capture(s));
    CHECK(m.api.query(e).error().native == 907);
    CHECK(m.api.synchronize(e).error().native == 907);
    CHECK(m.api.wait(other, e).error().native == 907);
    REQUIRE(m.api.record(e, s)); // anew
    CHECK(m.api.wait(other, e));
    CHECK(m.got(m.api.query(e)));
}

TEST_CASE("blocks marked in a capture are followed, but not ordered, and keep their bytes", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream();
    std::byte* const p = m.allocate(4096);
    REQUIRE(m.api.fill_async(p, 1, 4096, s));
    REQUIRE(m.api.synchronize(s));
    REQUIRE(m.api.begin_capture(s, capture_mode::relaxed));
    m.api.mark_allocated(p, 64, s);
    m.api.mark_freed(p, 64, s);
    m.api.mark_freed(p, 64, s);
    REQUIRE(m.api.end_capture(s));
    CHECK(m.only(device::hazard_kind::freed_twice));
    CHECK(p[0] == std::byte{1});
}

TEST_CASE(
    "a block marked as allocated in a capture must be free for the host: its graph may run before its stream's work",
    "[device]") {
    simulated_machine m;
    const auto s = m.make_stream();
    std::byte* const p = m.allocate(4096);
    REQUIRE(m.api.fill_async(p, 1, 4096, s));
    REQUIRE(m.api.begin_capture(s, capture_mode::relaxed));
    m.api.mark_allocated(p, 64, s);
    REQUIRE(m.api.end_capture(s));
    CHECK(m.only(device::hazard_kind::not_ordered));
}

TEST_CASE("whether the legacy stream is captured is only a question", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream(device::stream_kind::blocking);
    REQUIRE(m.api.begin_capture(s, capture_mode::relaxed));
    CHECK(!m.api.capturing(device::simulated::legacy_stream())); // CUDA's cudaErrorStreamCaptureImplicit
    CHECK(m.api.end_capture(s));
}
