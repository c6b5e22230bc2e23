// Memory of the simulated device: blocks, their ends, and what is told of those who use them too late.
#include <support/simulated_machine.hpp>

#include <cstring>

using namespace allot::literals;
namespace device = allot::device;
using device::failure;
using device::hazard_kind;

TEST_CASE("a device has only so much memory", "[device]") {
    simulated_machine m{{.devices = 2, .total_bytes = 10_MiB}};
    CHECK(m.got(m.api.memory_of({0})).free_bytes == 10_MiB);
    std::byte* const p = m.allocate(6_MiB);
    CHECK(m.api.allocate({0}, 6_MiB).kind() == failure::out_of_memory);
    CHECK(m.api.allocate_async(6_MiB, m.make_stream()).kind() == failure::out_of_memory);
    CHECK(m.api.create({0}, 6_MiB).kind() == failure::out_of_memory);
    std::byte* const other = m.allocate(6_MiB, 1); // another device has its own
    CHECK(m.got(m.api.memory_of({0})).free_bytes == 4_MiB);
    REQUIRE(m.api.deallocate({0}, p));
    CHECK(m.got(m.api.memory_of({0})).free_bytes == 10_MiB);
    CHECK(m.api.deallocate({0}, p).kind() == failure::invalid_value);
    CHECK(m.api.deallocate({0}, other).kind() == failure::invalid_value); // the other device's
    REQUIRE(m.api.deallocate({1}, other));
}

TEST_CASE("memory that nothing owns is reported, and nothing is run on it", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream();
    std::byte* const p = m.allocate(4096);
    bool ran = false;
    const auto run = [&] { ran = true; };
    CHECK(m.sim.launch(s, {{p, 4097}}, {}, run).error().native == 700); // a byte beyond
    CHECK(m.only(hazard_kind::not_allocated));
    CHECK(m.sim.launch(s, {}, {{p - 1, 64}}, run).error().native == 700);
    CHECK(m.only(hazard_kind::not_allocated));
    REQUIRE(m.api.deallocate({0}, p));
    CHECK(m.api.fill_async(p, 0, 64, s).error().native == 700);
    CHECK_THAT(text_of_finding(m.found().at(0)), ContainsSubstring("64 bytes at 0x"));
    CHECK_THAT(text_of_finding(m.found().at(0)),
               ContainsSubstring("\"fill\" (stream 1, operation 3) uses an address where no memory is allocated"));
    CHECK(m.only(hazard_kind::not_allocated));
    int number = 0;
    CHECK(m.api.copy_async(&number, p, sizeof number, s).error().native == 700);
    CHECK(m.only(hazard_kind::not_allocated));
    CHECK_FALSE(ran);
    CHECK(m.api.copy_async(&number, nullptr, 4, s).kind() == failure::invalid_value);
}

TEST_CASE("another device's memory needs a right", "[device]") {
    simulated_machine m{{.devices = 2}};
    std::byte* const p = m.allocate(4096);
    const auto s = m.make_stream(device::stream_kind::non_blocking, 1);
    CHECK(m.sim.launch(s, {{p, 64}}, {}).error().native == 700);
    CHECK(m.only(hazard_kind::no_access));
    std::byte* const q = m.allocate(4096, 1);
    REQUIRE(m.api.copy_peer_async(q, {1}, p, {0}, 64, s)); // the runtime finds a way
    REQUIRE(m.api.enable_peer({1}, {0}));
    m.reads(s, p, 64);
    const auto pool = m.got(m.api.allocate_async(64, m.make_stream()));
    CHECK_FALSE(m.sim.launch(s, {{pool, 64}}, {})); // enabling peers says nothing of pools
    CHECK(m.only(hazard_kind::no_access));
}

TEST_CASE("stream-ordered memory is given back in the order of its stream", "[device]") {
    simulated_machine m;
    const auto a = m.make_stream(), b = m.make_stream();
    void* const p = m.got(m.api.allocate_async(4096, a));
    m.writes(a, p, 4096);
    SECTION("used before it is allocated there") {
        m.writes(b, p, 4096);
        CHECK(m.only(hazard_kind::not_ordered));
    }
    SECTION("freed while another stream uses it") {
        m.order(a, b);
        m.reads(b, p, 4096);
        REQUIRE(m.api.deallocate_async(p, a));
        CHECK_THAT(text_of_finding(m.found().at(0)),
                   ContainsSubstring(
                       "\"deallocate_async\" (stream 1, operation 3) is not ordered after \"reader\" (stream 2"));
        CHECK(m.only(hazard_kind::not_ordered));
    }
    SECTION("used after it is freed") {
        REQUIRE(m.api.deallocate_async(p, a));
        CHECK_FALSE(m.sim.launch(a, {{p, 4096}}, {}));
        CHECK(m.only(hazard_kind::not_allocated));
        CHECK(m.api.deallocate_async(p, a).kind() == failure::invalid_value);
    }
    SECTION("freed by another stream, which waited") {
        m.order(a, b);
        REQUIRE(m.api.deallocate_async(p, b));
        CHECK(m.got(m.api.allocate_async(4096, a)) != p); // a does not know of it
        CHECK(m.got(m.api.allocate_async(4096, b)) == p);
        CHECK(m.sim.hazards() == 0);
    }
    SECTION("freed by the call that waits for the device") {
        m.order(a, b);
        m.reads(b, p, 4096);
        REQUIRE(m.api.deallocate({0}, p));
        CHECK(m.sim.hazards() == 0);
    }
    SECTION("a pool's memory is not plain memory") {
        CHECK(m.api.deallocate_async(m.allocate(64), a).kind() == failure::invalid_value);
        CHECK(m.api.deallocate_pinned(p).kind() == failure::invalid_value);
    }
}

TEST_CASE("blocks cut out of a segment are followed when they are marked", "[device]") {
    simulated_machine m;
    const auto a = m.make_stream(), b = m.make_stream();
    std::byte* const segment = m.allocate(1_MiB);
    std::byte* const block = segment + 4096;
    m.api.mark_allocated(block, 8192, a);
    m.writes(a, block, 8192);
    SECTION("reuse on the same stream needs nothing") {
        m.api.mark_freed(block, 8192, a);
        m.api.mark_allocated(block, 1024, a);        // split
        m.api.mark_allocated(block + 1024, 7168, a); // the rest
        m.writes(a, block + 512, 512);
        m.api.mark_freed(block, 8192, a); // both at once
        m.api.mark_allocated(block, 8192, a);
        CHECK(m.sim.hazards() == 0);
        CHECK(m.sim.intervals() <= 3);
    }
    SECTION("reuse on another stream needs an event") {
        m.api.mark_freed(block, 8192, a);
        m.api.mark_allocated(block, 8192, b);
        CHECK_THAT(text_of_finding(m.found().at(0)),
                   ContainsSubstring(
                       "\"mark_allocated\" (stream 2, operation 1) is not ordered after \"mark_freed\" (stream 1"));
        CHECK(m.only(hazard_kind::not_ordered));
    }
    SECTION("and with it all is well") {
        m.api.mark_freed(block, 8192, a);
        m.order(a, b);
        m.api.mark_allocated(block, 8192, b);
        m.writes(b, block, 8192);
        CHECK(m.sim.hazards() == 0);
    }
    SECTION("freed while another stream uses it") {
        m.order(a, b);
        m.reads(b, block, 64);
        m.api.mark_freed(block, 8192, a);
        CHECK(m.only(hazard_kind::not_ordered));
    }
    SECTION("used after free, on the same stream") {
        m.api.mark_freed(block, 8192, a);
        m.reads(a, block + 8000, 64);
        CHECK_THAT(text_of_finding(m.found().at(0)),
                   ContainsSubstring("\"reader\" (stream 1, operation 4) uses freed memory: \"mark_freed\""));
        CHECK(m.only(hazard_kind::used_after_free));
    }
    SECTION("freed twice") {
        m.api.mark_freed(block, 8192, a);
        m.api.mark_freed(block, 8192, a);
        CHECK(m.only(hazard_kind::freed_twice));
    }
    SECTION("handed out twice") {
        m.api.mark_allocated(block + 4096, 8192, a);
        CHECK(m.only(hazard_kind::handed_out_twice));
    }
}

TEST_CASE("freed memory is poisoned in stream order", "[device]") {
    simulated_machine m;
    const auto a = m.make_stream();
    std::byte* const p = m.allocate(4096);
    REQUIRE(m.api.fill_async(p, 1, 4096, a));
    m.api.mark_freed(p + 64, 64, a);
    CHECK(p[63] == std::byte{1});
    CHECK(p[64] == std::byte{device::poison_byte});
    CHECK(p[127] == std::byte{device::poison_byte});
    CHECK(p[128] == std::byte{1});
    REQUIRE(m.api.deallocate({0}, p));
    CHECK(p[0] == std::byte{device::poison_byte});
}

TEST_CASE("what is not given back is reported, and by the sink at the end", "[device]") {
    std::vector<std::string> reported;
    device::hazard_sink sink = device::hazard_sink::quiet();
    sink.write_leak = [](void* context, const device::leak& l) noexcept {
        static_cast<std::vector<std::string>*>(context)->push_back(text_of_finding(l));
    };
    sink.context = &reported;
    {
        device::simulator sim{{.sink = sink}};
        const device::simulated api{sim};
        CHECK(sim.leaks() == 0);
        const auto s = *api.create_stream({0}, device::stream_kind::blocking);
        (void)api.create_event({0});
        (void)api.allocate({0}, 3_MiB);
        (void)api.allocate_async(64, s);
        (void)api.allocate_pinned(64);
        void* const p = *api.reserve({0}, 4_MiB, 0);
        (void)api.map(p, *api.create({0}, 2_MiB), 2_MiB);
        (void)api.begin_capture(s, device::capture_mode::relaxed);
        (void)api.end_capture(s);
        CHECK(sim.leaks() == 9);
    }
    CHECK(reported.size() == 9);
    const auto count = [&](const char* text) {
        int n = 0;
        for (const std::string& t : reported) n += t.find(text) != std::string::npos;
        return n;
    };
    for (const char* what : {"leak: plain memory at 0x", "3 MiB", "leak: stream-ordered memory", "leak: pinned memory",
                             "leak: address space", "leak: mapping", "leak: memory handle", "leak: stream 1",
                             "leak: event 0", "leak: graph 0"}) {
        INFO(what);
        CHECK(count(what) == 1);
    }
}
