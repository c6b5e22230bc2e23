// Delayed execution: same seed, same run; streams overtake each other unless they are ordered; wrong programs show it
// in their bytes, right ones never do.
#include <support/simulated_machine.hpp>

#include <random>

using namespace allot::literals;
namespace device = allot::device;

namespace {

// What some streams did, in the order in which it happened.
std::string trace(std::uint64_t seed, bool ordered) {
    simulated_machine m{{.execution = device::execution::delayed, .seed = seed}};
    std::string done;
    const simulated_machine::stream streams[3] = {m.make_stream(), m.make_stream(), m.make_stream()};
    for (int i = 0; i != 30; ++i) {
        const std::size_t which = static_cast<std::size_t>(i) % 3;
        if (ordered && i != 0) m.order(streams[static_cast<std::size_t>(i - 1) % 3], streams[which]);
        REQUIRE(m.sim.launch(streams[which], {}, {}, [&done, i] { done += static_cast<char>('A' + i); }));
    }
    m.sim.run_all();
    return done;
}

} // namespace

TEST_CASE("same seed, same run", "[device]") {
    std::vector<std::string> seen;
    for (std::uint64_t seed = 1; seed != 9; ++seed) {
        const std::string one = trace(seed, false);
        CHECK(one.size() == 30);
        CHECK(one == trace(seed, false));
        for (std::size_t s = 0; s != 3; ++s) // a stream keeps its order
            for (std::size_t i = s + 3; i < 30; i += 3)
                CHECK(one.find(static_cast<char>('A' + i - 3)) < one.find(static_cast<char>('A' + i)));
        for (const std::string& other : seen) CHECK(one != other);
        seen.push_back(one);
        CHECK(trace(seed, true) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^");
    }
}

TEST_CASE("a missing wait shows in the bytes, a right program never", "[device]") {
    const auto wrong_bytes = [](std::uint64_t seed, bool wait) {
        simulated_machine m{{.execution = device::execution::delayed, .seed = seed}};
        const auto a = m.make_stream(), b = m.make_stream();
        auto* const segment = reinterpret_cast<int*>(m.allocate(64 * sizeof(int)));
        int wrong = 0;
        for (int i = 1; i != 200; ++i) {
            int* const block = segment + i % 7;
            const auto from = i % 2 == 0 ? a : b, to = i % 2 == 0 ? b : a;
            m.api.mark_allocated(block, sizeof(int), from);
            REQUIRE(m.sim.launch(from, {}, {{block, sizeof(int)}}, [block, i] { *block = i; }));
            REQUIRE(m.sim.launch(from, {{block, sizeof(int)}}, {}, [block, i, &wrong] { wrong += *block != i; }));
            m.api.mark_freed(block, sizeof(int), from);
            if (wait) m.order(from, to);
        }
        m.sim.run_all();
        CHECK((m.sim.hazards() == 0) == wait);
        return wrong;
    };
    int seeds = 0;
    for (std::uint64_t seed = 1; seed != 20; ++seed) {
        CHECK(wrong_bytes(seed, true) == 0);
        seeds += wrong_bytes(seed, false) != 0;
    }
    CHECK(seeds >= 15);
}

TEST_CASE("an event is done when its work has run", "[device]") {
    simulated_machine m{{.execution = device::execution::delayed, .longest_queue = 1000}};
    const auto s = m.make_stream();
    const auto e = m.make_event();
    int not_yet = 0;
    for (int i = 0; i != 200; ++i) {
        bool ran = false;
        REQUIRE(m.sim.launch(s, {}, {}, [&ran] { ran = true; }));
        REQUIRE(m.api.record(e, s));
        while (!m.got(m.api.query(e))) ++not_yet;
        CHECK(ran);
    }
    CHECK(not_yet > 10);
}

TEST_CASE("where nothing runs, a coin says whether an event is done, and it stays done", "[device]") {
    simulated_machine m{{.execution = device::execution::none}};
    const auto s = m.make_stream();
    const auto e = m.make_event();
    int at_once = 0;
    for (int i = 0; i != 200; ++i) {
        REQUIRE(m.api.record(e, s));
        at_once += m.got(m.api.query(e));
        while (!m.got(m.api.query(e))) {
        }
        CHECK(m.got(m.api.query(e)));
    }
    CHECK(at_once > 60);
    CHECK(at_once < 140);
}

TEST_CASE("the legacy stream keeps its place among delayed work", "[device]") {
    for (std::uint64_t seed = 1; seed != 20; ++seed) {
        simulated_machine m{{.execution = device::execution::delayed, .seed = seed}};
        const auto a = m.make_stream(device::stream_kind::blocking), b = m.make_stream(device::stream_kind::blocking);
        std::string done;
        const auto add = [&](simulated_machine::stream s, char c) {
            REQUIRE(m.sim.launch(s, {}, {}, [&done, c] { done += c; }));
        };
        for (int i = 0; i != 10; ++i) {
            add(a, 'a');
            add(b, 'b');
            add(m.api.legacy_stream(), '.');
        }
        const auto gone = m.make_stream(device::stream_kind::blocking);
        add(gone, 'g');
        REQUIRE(m.api.destroy_stream(gone)); // its work still comes first
        add(m.api.legacy_stream(), '.');
        m.sim.run_all();
        CHECK(done.size() == 32);
        for (std::size_t i = 0; i != 30; i += 3) {
            CHECK((done.substr(i, 3) == "ab." || done.substr(i, 3) == "ba."));
        }
        CHECK(done.substr(30) == "g.");
    }
}

TEST_CASE("an exception of a kernel that runs in the call comes out of it, and the machine goes on", "[device]") {
    simulated_machine m;
    const auto s = m.make_stream();
    CHECK_THROWS_AS(m.sim.launch(s, {}, {}, [] { throw 7; }).kind(), int);
    CHECK(m.allocate(64) != nullptr);
    REQUIRE(m.api.synchronize(s));
}
