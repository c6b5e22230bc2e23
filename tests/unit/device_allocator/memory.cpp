// Where memory comes from: growth, limit, sizes and alignments, what happens when there is none.
#include <support/device_sets.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace allot::literals;
using allocator = allot::device_allocator<task_memory>;
using call = allocator_machine::call;

TEST_CASE("device allocator: asks nothing of the device before it is used") {
    allocator_machine m;
    m.sim.lose();
    {
        allocator gpu{m.api, unheard, allot::limit{1_GiB}};
        CHECK(gpu.try_allocate(1, m.a) == nullptr);
    }
    m.sim.revive();
    CHECK(m.sim.count(call::reserve) == 0);
}

TEST_CASE("device allocator: what grows side by side is one") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{64_MiB}};
    std::vector<void*> all;
    for (int i = 0; i != 4; ++i) all.push_back(m.used(gpu, 16_MiB, m.a));
    CHECK(gpu.used() == 64_MiB);
    CHECK(gpu.stats().mapped == 64_MiB);
    for (void* p : all) gpu.deallocate(p, m.a);
    CHECK(gpu.stats().largest_free_run == 64_MiB);
    CHECK(m.used(gpu, 64_MiB, m.a) == all[0]);
    CHECK(gpu.valid());
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: without virtual memory there are plain segments, under the same limit") {
    for (const bool none : {true, false}) {
        allocator_machine m{{.virtual_memory = !none}};
        if (!none) m.sim.fail(call::reserve);
        allocator gpu{m.api, unheard, allot::limit{8_MiB}};
        void* const p = m.used(gpu, 4_MiB, m.a);
        void* const q = m.used(gpu, 4_MiB, m.b);
        CHECK(gpu.try_allocate(1, m.a) == nullptr);
        CHECK(gpu.stats().mapped == 0);
        CHECK(gpu.stats().pieces == 2);
        gpu.deallocate(p, m.a);
        gpu.deallocate(q, m.b);
        CHECK(m.used(gpu, 8_MiB, m.a) != nullptr); // in place of both, which lie apart
        CHECK(gpu.stats().released == 2);
        CHECK(gpu.valid());
        CHECK(m.sim.hazards() == 0);
    }
}

TEST_CASE("device allocator: a plain segment where the range is full has room for the alignment") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{64_MiB}, allot::reserve_bytes{4_MiB}};
    (void)m.used(gpu, 4_MiB, m.a);
    for (int i = 0; i != 8; ++i) {
        (void)m.allocate(512); // so that the next segment starts at no multiple of more
        void* const p = gpu.try_allocate(2_MiB, 1_MiB, m.a);
        REQUIRE(p != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(p) % 1_MiB == 0);
    }
    CHECK(gpu.stats().mapped == 4_MiB);
    CHECK(gpu.valid());
}

TEST_CASE("device allocator: the limit is hard, and a refused request changes nothing") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{9_MiB}};
    void* const p = m.used(gpu, 5_MiB, m.a);
    const auto before = gpu.stats();
    CHECK(gpu.try_allocate(4_MiB, m.a) == nullptr); // 2 MiB at a time: 6 are held, 8 are all
    CHECK(gpu.try_allocate(100_MiB, m.a) == nullptr);
    const auto after = gpu.stats();
    CHECK(after.charged == before.charged);
    CHECK(after.peak == before.peak);
    CHECK(after.live == before.live);
    CHECK(after.refused == 2);
    CHECK(m.used(gpu, 2_MiB, m.a) != nullptr);
    CHECK(gpu.used() == 8_MiB);
    gpu.set_limit(2_MiB);
    CHECK(gpu.try_allocate(2_MiB, m.a) == nullptr);
    gpu.deallocate(p, m.a);
    CHECK(m.used(gpu, 5_MiB, m.a) == p); // what is held stays
}

TEST_CASE("device allocator: a driver call that fails leaves nothing behind") {
    for (const call c : {call::create, call::map, call::set_access, call::granularity, call::stream_id, call::capturing,
                         call::exchange_capture_mode, call::reserve}) {
        allocator_machine m;
        {
            allocator gpu{m.api, unheard, allot::limit{64_MiB}};
            m.sim.fail(c);
            void* p = gpu.try_allocate(5_MiB, m.a); // some are done without
            if (p == nullptr) {
                CHECK(gpu.used() == 0);
                CHECK(gpu.stats().pieces == 0);
                p = gpu.try_allocate(5_MiB, m.a);
            }
            REQUIRE(p != nullptr);
            CHECK(gpu.valid());
            gpu.deallocate(p, m.a);
        }
        REQUIRE(m.api.destroy_stream(m.a));
        REQUIRE(m.api.destroy_stream(m.b));
        CHECK(m.sim.leaks() == 0);
        CHECK(m.sim.hazards() == 0);
    }
}

TEST_CASE("device allocator: events and waits that fail cost a block, not its order") {
    for (const call c : {call::create_event, call::record, call::wait}) {
        allocator_machine m;
        allocator gpu{m.api, unheard, allot::limit{2_MiB}};
        void* const p = m.used(gpu, 2_MiB, m.a);
        gpu.deallocate(p, m.a);
        m.sim.fail(c);
        void* const q = gpu.try_allocate(1_MiB, m.b); // refused, or by another way
        if (q != nullptr) {
            m.writes(m.b, q, 1_MiB);
            gpu.deallocate(q, m.b);
        }
        CHECK(m.used(gpu, 1_MiB, m.b) == p);
        CHECK(gpu.valid());
        CHECK(m.sim.hazards() == 0);
    }
}

TEST_CASE("device allocator: no bytes, odd alignments, sizes beyond all") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{64_MiB}};
    CHECK(gpu.allocate(0, m.a) == nullptr);
    CHECK(gpu.try_allocate(0, m.a) == nullptr);
    gpu.deallocate(nullptr, m.a);
    CHECK(gpu.stats().refused == 0);
    for (const std::size_t align : {std::size_t{1}, std::size_t{256}, 4_KiB, 2_MiB, 8_MiB}) {
        void* const odd = gpu.try_allocate(1, m.a);
        void* const p = gpu.try_allocate(1000, align, m.a);
        REQUIRE(p != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(p) % align == 0);
        gpu.deallocate(p, m.a);
        gpu.deallocate(odd, m.a);
    }
    for (const std::size_t bytes :
         {SIZE_MAX, SIZE_MAX - 255, SIZE_MAX / 2, std::size_t{1} << 62, std::size_t{1} << 40, 65_MiB})
        for (const std::size_t align : {std::size_t{1}, std::size_t{256}, 2_MiB, std::size_t{1} << 63})
            CHECK(gpu.try_allocate(bytes, align, m.a) == nullptr);
    CHECK(gpu.try_allocate(1, std::size_t{1} << 63, m.a) == nullptr);
    CHECK(gpu.stats().live == 0);
    CHECK(gpu.valid());
}

TEST_CASE("device allocator: an exhausted one says so at once") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{16_MiB}};
    std::vector<void*> all;
    for (int i = 0; i != 32; ++i) all.push_back(m.used(gpu, 512_KiB, i % 2 == 0 ? m.a : m.b));
    for (std::size_t i = 0; i < 32; i += 3) gpu.deallocate(all[i], i % 2 == 0 ? m.a : m.b);
    CHECK(gpu.try_allocate(2_MiB, m.a) == nullptr); // nothing lies side by side
    const auto calls = [&] {
        std::uint64_t n = 0;
        for (std::size_t c = 0; c != allot::device::calls; ++c) n += m.sim.count(static_cast<call>(c));
        return n;
    };
    const auto before = calls();
    for (int i = 0; i != 10; ++i) CHECK(gpu.try_allocate(2_MiB + static_cast<std::size_t>(i), m.a) == nullptr);
    CHECK(calls() - before == 40); // whose stream, whether it is captured, and the thread's mode twice
}

TEST_CASE("device allocator: plain segments go back until a new one has room for the alignment") {
    allocator_machine m{{.virtual_memory = false}};
    allocator gpu{m.api, unheard, allot::limit{10_MiB}};
    std::vector<void*> all;
    for (int i = 0; i != 5; ++i) all.push_back(m.used(gpu, 2_MiB, m.a));
    for (void* p : all) gpu.deallocate(p, m.a);
    REQUIRE(gpu.stats().pieces == 5);
    void* const p = gpu.try_allocate(4_MiB, 4_KiB, m.a); // 6 MiB are asked for
    REQUIRE(p != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(p) % 4_KiB == 0);
    CHECK(gpu.valid());
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: many runs that do not serve an aligned request hide none that growth or a join makes") {
    allocator_machine m;
    const auto c = m.make_stream();
    allocator gpu{m.api, unheard, allot::limit{64_MiB}};
    std::vector<void*> all;
    for (int i = 0; i != 20; ++i) {
        (void)m.used(gpu, 4_KiB, m.b);
        all.push_back(m.used(gpu, 2_MiB, m.b));
    }
    void* const whole = gpu.try_allocate(2_MiB, 2_MiB, m.a);
    while (gpu.stats().largest_free_run != 0) (void)m.used(gpu, gpu.stats().largest_free_run, m.b);
    gpu.deallocate(whole, m.a);
    REQUIRE(m.used(gpu, 1_MiB, m.a) == whole);
    void* const half = m.used(gpu, 1_MiB, c);
    for (std::size_t i = 0; i != 20; ++i) {
        if (i == 10) (void)gpu.trim(); // ten are free for all, ten are b's
        gpu.deallocate(all[i], m.b);
    }
    const auto serves = [&] {
        const std::size_t held = gpu.used();
        gpu.set_limit(held + 2_MiB);
        void* const p = gpu.try_allocate(2_MiB, 2_MiB, m.b);
        REQUIRE(p != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(p) % 2_MiB == 0);
        CHECK(gpu.used() == held + 2_MiB);
        m.writes(m.b, p, 2_MiB);
    };
    serves();
    REQUIRE(m.api.begin_capture(m.b, allot::device::capture_mode::relaxed));
    serves();
    REQUIRE(m.api.destroy_graph(m.got(m.api.end_capture(m.b))));
    gpu.set_limit(gpu.used());
    gpu.deallocate(whole, m.a);
    gpu.deallocate(half, c);
    CHECK(gpu.try_allocate(2_MiB, 2_MiB, m.b) == whole);
    CHECK(gpu.stats().joined == 1);
    CHECK(gpu.valid());
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: a request as large as all that is free is joined, whatever alignment that has") {
    for (const bool untold : {false, true}) {
        allocator_machine m;
        m.seem_busy();
        allocator gpu{m.api, unheard, allot::limit{64_MiB}};
        void* const p = m.used(gpu, 32_MiB, m.a);
        gpu.deallocate(m.used(gpu, 32_MiB, m.b), m.b);
        gpu.deallocate(p, m.a);
        if (untold) REQUIRE(m.api.destroy_stream(m.a)); // then the host waits
        const auto c = m.make_stream();
        for (const std::size_t align : {std::size_t{512}, 4_KiB, 2_MiB}) {
            void* const all = gpu.try_allocate(64_MiB, align, c);
            REQUIRE(all == p);
            m.writes(c, all, 64_MiB);
            gpu.deallocate(all, c);
        }
        CHECK(gpu.stats().joined == (untold ? 0 : 1));
        CHECK(gpu.stats().released == 0);
        CHECK(m.sim.hazards() == 0);
    }
}

TEST_CASE("device allocator: a request that nothing could help says nothing of one that asks for less, or later") {
    SECTION("less alignment") {
        allocator_machine m;
        allocator gpu{m.api, unheard, allot::limit{2_MiB}};
        std::vector<void*> all;
        for (int i = 0; i != 4; ++i) all.push_back(m.used(gpu, 512_KiB, i % 2 == 0 ? m.a : m.b));
        gpu.deallocate(all[1], m.b);
        gpu.deallocate(all[2], m.a);
        const auto c = m.make_stream();
        CHECK(gpu.try_allocate(1_MiB, 4_MiB, c) == nullptr);
        CHECK(gpu.try_allocate(1_MiB, c) == all[1]);
    }
    SECTION("after a capture") {
        allocator_machine m;
        allocator gpu{m.api, unheard, allot::limit{16_MiB}};
        const auto gone = m.make_stream();
        gpu.deallocate(m.used(gpu, 256, m.a), m.a); // it is known
        gpu.deallocate(m.used(gpu, 15_MiB, gone), gone);
        REQUIRE(m.api.destroy_stream(gone));
        REQUIRE(m.api.begin_capture(m.a, allot::device::capture_mode::relaxed));
        CHECK(gpu.try_allocate(10_MiB, m.b) == nullptr); // a wait for the device would end the capture
        REQUIRE(m.api.destroy_graph(m.got(m.api.end_capture(m.a))));
        CHECK(m.used(gpu, 10_MiB, m.b) != nullptr);
        CHECK(m.sim.hazards() == 0);
    }
}
