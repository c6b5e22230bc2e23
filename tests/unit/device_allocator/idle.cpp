// retain::idle of a device allocator: pieces that nobody needed between two looks go back, others do not, and nobody
// waits.
#include <support/device_sets.hpp>

#include <type_traits>
#include <vector>

using namespace allot::literals;

namespace {

// A clock that tests move, by seconds.
struct test_clock {
    static inline std::uint64_t time = 0;
    static std::uint64_t now() noexcept { return time; }
    static void pass(std::uint64_t seconds) { time += seconds * 1'000'000'000; }
};
struct idle_memory : allot::policies<on_simulated, allot::oom::null, allot::retain::idle<10_s, test_clock>> {};
using allocator = allot::device_allocator<idle_memory>;
using call = allocator_machine::call;

std::uint64_t waits_of_the_host(const allocator_machine& m) {
    return m.sim.count(call::synchronize_device) + m.sim.count(call::synchronize_event) +
           m.sim.count(call::synchronize_stream);
}

} // namespace

static_assert(std::is_empty_v<allot::detail::idle_trimmer<allot::retain::on_pressure>>);
static_assert(sizeof(allot::device_allocator<task_memory>) + 72 == sizeof(allocator));

TEST_CASE("device allocator: a piece that rested for the span goes back at a request") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{64_MiB}};
    void* const small = m.used(gpu, 1_MiB, m.a); // beside it is room for what follows
    gpu.deallocate(m.used(gpu, 16_MiB, m.a), m.a);
    const auto look = [&] { gpu.deallocate(m.used(gpu, 256, m.b), m.b); };
    look();
    CHECK(gpu.used() == 18_MiB);
    test_clock::pass(10);
    look(); // what a freed is found to be done
    CHECK(gpu.stats().idle == 16_MiB);
    CHECK(gpu.used() == 18_MiB);
    test_clock::pass(9);
    look();
    CHECK(gpu.used() == 18_MiB);
    test_clock::pass(1);
    look();
    CHECK(gpu.used() == 2_MiB);
    CHECK(gpu.stats().released != 0);
    CHECK(gpu.stats().live == 1_MiB);
    CHECK(waits_of_the_host(m) == 0);
    CHECK(m.sim.hazards() == 0);
    CHECK(gpu.valid());
    gpu.deallocate(small, m.a);
}

TEST_CASE("device allocator: a piece that was used between two looks stays") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{64_MiB}};
    gpu.deallocate(m.used(gpu, 16_MiB, m.a), m.a);
    for (int i = 0; i != 8; ++i) {
        test_clock::pass(10);
        void* const p = m.used(gpu, 16_MiB, m.a); // looks first
        test_clock::pass(1);
        gpu.deallocate(p, m.a);
    }
    CHECK(gpu.stats().released == 0);
    CHECK(gpu.stats().grown == 1);
    CHECK(gpu.used() == 16_MiB);
    // and one that serves before its rest is over, too
    test_clock::pass(20);
    (void)gpu.trim_idle();
    CHECK(gpu.stats().idle == 16_MiB);
    test_clock::pass(9);
    void* const p = m.used(gpu, 256, m.b);
    gpu.deallocate(p, m.b);
    CHECK(gpu.stats().grown == 1);
    test_clock::pass(1);
    (void)gpu.trim_idle();
    CHECK(gpu.used() == 16_MiB);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: what rests serves like what is free, also joined with what it touches") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{16_MiB}};
    void* const p = m.used(gpu, 8_MiB, m.a);
    void* const q = m.used(gpu, 8_MiB, m.a);
    gpu.deallocate(q, m.a);
    test_clock::pass(10);
    (void)gpu.trim_idle();
    CHECK(gpu.stats().idle == 8_MiB);
    gpu.deallocate(p, m.a);
    void* const r = m.used(gpu, 12_MiB, m.b); // over both: one is not done yet, one rests
    CHECK(gpu.stats().grown == 2);
    CHECK(gpu.stats().idle == 0);
    CHECK(waits_of_the_host(m) == 0);
    gpu.deallocate(r, m.b);
    CHECK(m.sim.hazards() == 0);
    CHECK(gpu.valid());
}

TEST_CASE("device allocator: at most eight pieces go back at a request, and the next goes on") {
    allocator_machine m{{.virtual_memory = false}};
    allocator gpu{m.api, unheard, allot::limit{64_MiB}};
    std::vector<void*> all;
    for (int i = 0; i != 28; ++i) all.push_back(m.used(gpu, 2_MiB, m.a));
    for (void* p : all) gpu.deallocate(p, m.a);
    const auto pieces = gpu.stats().pieces;
    REQUIRE(pieces > 8);
    test_clock::pass(10);
    CHECK(gpu.trim_idle() == 0);
    CHECK(gpu.trim_idle() == 0); // not due
    test_clock::pass(10);
    CHECK(gpu.trim_idle() != 0);
    CHECK(gpu.stats().pieces == pieces - 8);
    CHECK(gpu.trim_idle() != 0);
    CHECK(gpu.stats().pieces == 0);
    CHECK(gpu.used() == 0);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: what the device has not done does not rest, and what no event follows stays") {
    allocator_machine m{{.execution = allot::device::execution::delayed}};
    allocator gpu{m.api, unheard, allot::limit{64_MiB}};
    gpu.deallocate(m.used(gpu, 16_MiB, m.a), m.a);
    for (int i = 0; i != 50 && gpu.used() != 0; ++i) {
        test_clock::pass(10);
        const std::size_t before = gpu.stats().free_after_wait;
        CHECK((gpu.trim_idle() == 0 || before == 0));
    }
    CHECK(waits_of_the_host(m) == 0);
    CHECK(m.sim.hazards() == 0);
    // a stream that was destroyed untold: nothing can be recorded behind its frees
    gpu.trim();
    const auto c = m.make_stream();
    gpu.deallocate(m.used(gpu, 16_MiB, c), c);
    REQUIRE(m.api.destroy_stream(c));
    for (int i = 0; i != 4; ++i) {
        test_clock::pass(10);
        CHECK(gpu.trim_idle() == 0);
    }
    CHECK(gpu.used() == 16_MiB);
    CHECK(gpu.trim() == 16_MiB);
}

TEST_CASE("device allocator: only what an event reports as done is free for all after a look") {
    for (std::uint64_t seed = 1; seed != 33; ++seed) { // whether an event is done is drawn
        allocator_machine m{{.execution = allot::device::execution::none, .seed = seed}};
        allocator gpu{m.api, unheard, allot::limit{16_MiB}};
        gpu.deallocate(m.used(gpu, 16_MiB, m.a), m.a);
        test_clock::pass(10);
        (void)gpu.trim_idle();
        gpu.deallocate(m.used(gpu, 16_MiB, m.b), m.b);
        CHECK(m.sim.hazards() == 0);
    }
}

TEST_CASE("device allocator: a stream of another device in a left one's place has no event of that") {
    allocator_machine m{{.devices = 2}};
    allocator gpu{m.api, unheard, allot::limit{16_MiB}};
    void* const p = m.used(gpu, 2_MiB, m.a);
    void* const q = m.used(gpu, 14_MiB, m.b);
    gpu.deallocate(p, m.a);
    CHECK(m.used(gpu, 2_MiB, m.b) == p); // after an event of a
    gpu.leave(m.a);
    const auto other = m.make_stream(allot::device::stream_kind::non_blocking, 1);
    gpu.deallocate(q, other); // in a's place
    const auto asked = m.sim.count(call::query_event);
    test_clock::pass(10);
    (void)gpu.trim_idle();
    CHECK(m.sim.count(call::query_event) == asked + 1); // the one that is recorded now
    CHECK(gpu.stats().idle == 14_MiB);
    gpu.deallocate(p, m.b);
}

TEST_CASE("device allocator: a capture, which cannot wait, is served by what rests and what it touches") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{16_MiB}};
    gpu.deallocate(m.used(gpu, 8_MiB, m.a), m.a);
    void* const front = m.used(gpu, 2_MiB, m.a);
    gpu.deallocate(m.used(gpu, 8_MiB, m.a), m.a); // a piece of its own
    test_clock::pass(10);
    (void)gpu.trim_idle();
    CHECK(gpu.stats().free_for_all == 14_MiB);
    CHECK(gpu.stats().idle == 8_MiB);
    REQUIRE(m.api.begin_capture(m.b, allot::device::capture_mode::global));
    CHECK(m.used(gpu, 12_MiB, m.b) == static_cast<std::byte*>(front) + 2_MiB);
    REQUIRE(m.api.destroy_graph(m.got(m.api.end_capture(m.b))));
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: a capture neither looks nor is disturbed by a look, and takes what rests") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{16_MiB}};
    gpu.deallocate(m.used(gpu, 16_MiB, m.b), m.b);
    test_clock::pass(10);
    (void)gpu.trim_idle();
    CHECK(gpu.stats().idle == 16_MiB);
    test_clock::pass(10);
    REQUIRE(m.api.begin_capture(m.a, allot::device::capture_mode::global));
    void* const p = m.used(gpu, 4_MiB, m.a); // due, but not by a stream that is captured
    CHECK(gpu.stats().released == 0);
    CHECK(gpu.trim_idle() == 0); // nothing is wholly free any more
    CHECK(gpu.used() == 16_MiB);
    const auto graph = m.got(m.api.end_capture(m.a));
    REQUIRE(m.api.launch_graph(graph, m.a));
    REQUIRE(m.api.destroy_graph(graph));
    gpu.deallocate(p, m.a);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: one that sits idle is looked at by requests of another") {
    allocator_machine m;
    allocator idle{m.api, unheard, allot::limit{512_MiB}}, busy{m.api, unheard, allot::limit{64_MiB}};
    std::vector<void*> blocks;
    for (int i = 0; i < 24; ++i) blocks.push_back(m.used(idle, 16_MiB, m.a));
    for (void* const p : blocks) idle.deallocate(p, m.a);
    REQUIRE(idle.used() >= 24 * 16_MiB);
    for (int span = 0; span < 3; ++span, test_clock::pass(10))
        for (int i = 0; i < 16; ++i) busy.deallocate(m.used(busy, 256, m.b), m.b);
    CHECK(idle.used() == 0);
    CHECK(waits_of_the_host(m) == 0);
    CHECK(m.sim.hazards() == 0);
    CHECK(idle.valid());
}
