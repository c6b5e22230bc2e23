// Captures: only memory that is free for all goes into one, and what is freed in one stays there until its graphs are
// gone.
#include <support/device_sets.hpp>

using namespace allot::literals;
using allocator = allot::device_allocator<task_memory>;
using mode = allot::device::capture_mode;

TEST_CASE("device allocator: a capture is given what is free for all, never what its stream freed") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 1_MiB, m.a);
    gpu.deallocate(p, m.a);
    REQUIRE(m.api.begin_capture(m.a, mode::global));
    void* const q = gpu.try_allocate(1_MiB, m.a);
    REQUIRE(q != nullptr);
    CHECK(q != p);
    m.writes(m.a, q, 1_MiB);
    CHECK(gpu.try_allocate(1_MiB, m.a) == nullptr); // what a freed is not for its capture, and the limit is reached
    const auto graph = m.got(m.api.end_capture(m.a));
    REQUIRE(m.api.launch_graph(graph, m.b)); // before a has done what it did: fine for q, not for p
    CHECK(m.sim.hazards() == 0);
    REQUIRE(m.api.destroy_graph(graph));
    gpu.deallocate(q, m.b);
}

TEST_CASE("device allocator: it grows in a capture, whatever the mode") {
    for (const mode how : {mode::global, mode::one_thread, mode::relaxed}) {
        allocator_machine m;
        allocator gpu{m.api, unheard, allot::limit{64_MiB}};
        REQUIRE(m.api.begin_capture(m.a, how));
        void* const p = m.used(gpu, 3_MiB, m.a);
        void* const q = m.used(gpu, 9_MiB, m.b); // another stream meanwhile
        const auto graph = m.got(m.api.end_capture(m.a));
        REQUIRE(m.api.destroy_graph(graph));
        gpu.deallocate(p, m.a);
        gpu.deallocate(q, m.b);
        CHECK(m.sim.hazards() == 0);
    }
}

TEST_CASE("device allocator: what is freed in a capture is held until release_captured") {
    allocator_machine m;
    m.seem_busy();
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    REQUIRE(m.api.begin_capture(m.a, mode::global));
    void* const p = m.used(gpu, 2_MiB, m.a);
    gpu.deallocate(p, m.a);
    CHECK(gpu.try_allocate(1, m.a) == nullptr);
    const auto graph = m.got(m.api.end_capture(m.a));
    CHECK(gpu.try_allocate(1, m.a) == nullptr);
    CHECK(gpu.try_allocate(1, m.b) == nullptr);
    CHECK(gpu.trim() == 0);
    CHECK(gpu.stats().captured == 2_MiB);
    for (int i = 0; i != 3; ++i) REQUIRE(m.api.launch_graph(graph, m.b));
    REQUIRE(m.api.destroy_graph(graph));
    CHECK(gpu.release_captured(m.b) == 2_MiB);
    CHECK(m.used(gpu, 2_MiB, m.a) == p);
    CHECK(m.waits() == 1);
    CHECK(m.sim.hazards() == 0);
    gpu.deallocate(p, m.a);
}

TEST_CASE("device allocator: no event goes into somebody's capture, and no capture is lost") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 2_MiB, m.a);
    gpu.deallocate(p, m.a);
    REQUIRE(m.api.begin_capture(m.a, mode::global));
    CHECK(gpu.try_allocate(1_MiB, m.b) == nullptr); // a has it, and nothing can be recorded on a now
    CHECK(gpu.trim() == 0);                         // nor waited for
    REQUIRE(m.api.destroy_graph(m.got(m.api.end_capture(m.a))));
    CHECK(m.used(gpu, 1_MiB, m.b) == p);
    CHECK(m.sim.hazards() == 0);
    gpu.deallocate(p, m.b);
}

TEST_CASE("device allocator: the legacy stream waits for nobody while a blocking stream is captured") {
    allocator_machine m;
    m.seem_busy();
    const auto blocking = m.make_stream(allot::device::stream_kind::blocking);
    const auto legacy = allot::device::simulated::legacy_stream();
    allocator gpu{m.api, unheard, allot::limit{2_MiB}};
    gpu.deallocate(m.used(gpu, 2_MiB, m.a), m.a);
    REQUIRE(m.api.begin_capture(blocking, mode::relaxed));
    CHECK(gpu.try_allocate(1_MiB, legacy) == nullptr);
    REQUIRE(m.api.destroy_graph(m.got(m.api.end_capture(blocking)))); // it was not lost
    void* const p = m.used(gpu, 1_MiB, legacy);
    gpu.deallocate(p, legacy);
    CHECK(m.sim.hazards() == 0);
}
