// Where memory comes from and goes to: growth, limit, sizes and alignments, what happens when there is none.
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
    CHECK(gpu.figures().mapped == 64_MiB);
    for (void* p : all) gpu.deallocate(p, m.a);
    CHECK(gpu.figures().largest_free_run == 64_MiB);
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
        CHECK(gpu.figures().mapped == 0);
        CHECK(gpu.figures().pieces == 2);
        gpu.deallocate(p, m.a);
        gpu.deallocate(q, m.b);
        CHECK(m.used(gpu, 8_MiB, m.a) != nullptr); // in place of both, which lie apart
        CHECK(gpu.figures().given_back == 2);
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
    CHECK(gpu.figures().mapped == 4_MiB);
    CHECK(gpu.valid());
}

TEST_CASE("device allocator: the limit is hard, and a refused request changes nothing") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{9_MiB}};
    void* const p = m.used(gpu, 5_MiB, m.a);
    const auto before = gpu.figures();
    CHECK(gpu.try_allocate(4_MiB, m.a) == nullptr); // 2 MiB at a time: 6 are held, 8 are all
    CHECK(gpu.try_allocate(100_MiB, m.a) == nullptr);
    const auto after = gpu.figures();
    CHECK(after.reserved == before.reserved);
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
                CHECK(gpu.figures().pieces == 0);
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
    CHECK(gpu.figures().refused == 0);
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
    CHECK(gpu.figures().live == 0);
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
    REQUIRE(gpu.figures().pieces == 5);
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
    while (gpu.figures().largest_free_run != 0) (void)m.used(gpu, gpu.figures().largest_free_run, m.b);
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
    CHECK(gpu.figures().joined == 1);
    CHECK(gpu.valid());
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: a request as large as all that is free is joined, whatever alignment that has") {
    for (const bool untold : {false, true}) {
        allocator_machine m;
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
        CHECK(gpu.figures().joined == (untold ? 0 : 1));
        CHECK(gpu.figures().given_back == 0);
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

TEST_CASE("device allocator: trim gives back what is wholly free, and waits for who used it") {
    allocator_machine m;
    allocator gpu{m.api, unheard, allot::limit{64_MiB}};
    void* const p = m.used(gpu, 16_MiB, m.a);
    void* const q = m.used(gpu, 16_MiB, m.b);
    void* const r = m.used(gpu, 16_MiB, m.b);
    gpu.deallocate(p, m.a);
    gpu.deallocate(r, m.b);
    CHECK(gpu.trim() == 32_MiB);
    CHECK(gpu.used() == 16_MiB);
    CHECK(gpu.trim() == 0);
    CHECK(m.used(gpu, 40_MiB, m.a) != nullptr); // in what is left of the range
    gpu.deallocate(q, m.b);
    CHECK(gpu.valid());
    CHECK(m.sim.hazards() == 0);
}

struct keeps : allot::policies<on_simulated, allot::oom::null, allot::retain::never> {};
struct gives_on_call : allot::policies<on_simulated, allot::oom::null, allot::retain::on_call> {};

TEST_CASE("device allocator: retain says when pieces go back") {
    // Two pieces, the second free; 16 MiB fit neither, but would in place of it.
    const auto serves = [](auto& gpu, allocator_machine& m) {
        void* const p = m.used(gpu, 8_MiB, m.a);
        void* const q = m.used(gpu, 8_MiB, m.a);
        gpu.deallocate(p, m.a);
        (void)q;
        gpu.set_limit(24_MiB);
        return gpu.try_allocate(16_MiB, m.a) != nullptr;
    };
    {
        allocator_machine m;
        allocator gpu{m.api, unheard, allot::limit{16_MiB}};
        CHECK(serves(gpu, m));
        CHECK(m.sim.hazards() == 0);
    }
    allocator_machine m;
    {
        allot::device_allocator<gives_on_call> gpu{m.api, unheard, allot::limit{16_MiB}};
        CHECK(!serves(gpu, m));
    }
    allot::device_allocator<keeps> gpu{m.api, unheard, allot::limit{16_MiB}};
    void* const p = m.used(gpu, 8_MiB, m.a);
    gpu.deallocate(p, m.a);
    CHECK(gpu.trim() == 0);
}

TEST_CASE("device allocator: at its end it tells what was not freed, and what the device says") {
    allocator_machine m;
    std::string said;
    const allot::leak_sink heard{
        [](void* to, std::string_view text) noexcept { static_cast<std::string*>(to)->append(text); }, &said};
    {
        allocator gpu{m.api, heard, allot::limit{16_MiB}, allot::name{"orders"}};
        (void)m.used(gpu, 1000, m.a);
    }
    CHECK(said == "allot: device allocator orders (set task_memory) ended with 1 blocks of 1 KiB not freed\n");
    CHECK(m.sim.leaks() == 2); // the streams
    said.clear();
    {
        allocator gpu{m.api, heard, allot::limit{16_MiB}};
        gpu.deallocate(m.used(gpu, 1000, m.a), m.a);
        m.sim.lose();
    }
    m.sim.revive();
    CHECK(said.find("lost") != std::string::npos);
    CHECK(m.sim.hazards() == 0);
}

// Metadata on the host that is short when a test says so.
struct scarce_metadata {
    static inline long left = -1; // growths until there is none; below 0: there always is
    void* resize(void* old, std::size_t from, std::size_t to) noexcept {
        if (to != 0 && left >= 0 && left-- == 0) return left = 0, nullptr;
        return allot::host_metadata{}.resize(old, from, to);
    }
};
struct scarce_best : allot::fit::best {
    template <allot::fit_tag Tag = allot::no_tag, class = void> using of = allot::best_fit<Tag, scarce_metadata>;
};
struct scarce_memory : allot::policies<on_simulated, scarce_best, allot::oom::null> {};

TEST_CASE(
    "device allocator: what a stream frees is not lost where the host was short of memory when it was first seen") {
    allocator_machine m;
    allot::device_allocator<scarce_memory> gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 1_MiB, m.a);
    scarce_metadata::left = 0;
    void* const q = m.used(gpu, 1_MiB, m.b); // what is free for all needs no place of b's
    SECTION("and is not any more") { scarce_metadata::left = -1; }
    SECTION("and still is") {}
    gpu.deallocate(q, m.b);
    scarce_metadata::left = -1;
    CHECK(gpu.figures().live == 1_MiB);
    REQUIRE(m.api.synchronize(allot::device_id{0}));
    (void)gpu.release_held(m.b);
    CHECK(m.used(gpu, 1_MiB, m.b) == q);
    gpu.deallocate(q, m.b);
    gpu.deallocate(p, m.a);
    CHECK(gpu.trim() == 2_MiB);
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: what a capture frees is not lost where the host was short of memory at the start") {
    for (long left = 0; left != 4; ++left) {
        allocator_machine m;
        scarce_metadata::left = left;
        allot::device_allocator<scarce_memory> gpu{m.api, unheard, allot::limit{2_MiB}};
        scarce_metadata::left = -1;
        void* const p = m.used(gpu, 2_MiB, m.a);
        REQUIRE(m.api.begin_capture(m.a, allot::device::capture_mode::relaxed));
        gpu.deallocate(p, m.a);
        REQUIRE(m.api.destroy_graph(m.got(m.api.end_capture(m.a))));
        CHECK(gpu.figures().held == 2_MiB);
        CHECK(gpu.release_held(m.b) == 2_MiB);
        CHECK(m.used(gpu, 2_MiB, m.b) == p);
    }
}

TEST_CASE("device allocator: a request that the host was too short of memory for is served later") {
    allocator_machine m{{.virtual_memory = false}};
    allot::device_allocator<scarce_memory> gpu{m.api, unheard, allot::limit{6_MiB}};
    (void)m.used(gpu, 256, m.a);
    void* const p = m.used(gpu, 2_MiB, m.a);
    void* const q = m.used(gpu, 2_MiB, m.a);
    scarce_metadata::left = 0;
    int blocks = 0;
    while (gpu.try_allocate(256, m.a) != nullptr) ++blocks;
    CHECK(blocks < 8000); // not for want of room
    gpu.deallocate(p, m.a);
    gpu.deallocate(q, m.a);
    CHECK(gpu.try_allocate(4_MiB, m.a) == nullptr); // in place of both, which the books cannot say now
    scarce_metadata::left = -1;
    CHECK(m.used(gpu, 4_MiB, m.a) != nullptr);
    CHECK(gpu.figures().given_back == 2);
    CHECK(m.sim.hazards() == 0);
}

#if ALLOT_EXCEPTIONS
TEST_CASE(
    "device allocator: out of memory tells request, limit, live, reserved, the largest run, and who has what is free") {
    allocator_machine m;
    allot::device_allocator<task_memory_raises> gpu{allot::name{"orders"}, m.api, unheard, allot::limit{4_MiB}};
    void* const p = gpu.allocate(1_MiB, m.a);
    void* const q = gpu.allocate(1_MiB, m.b);
    gpu.deallocate(p, m.a);
    try {
        (void)gpu.allocate(1_GiB, m.a);
        FAIL("no exception");
    } catch (const allot::out_of_memory& e) {
        CHECK(std::string{e.what()} == "allot: out of device memory: 1 GiB refused by task_memory_raises orders: 1 MiB "
                                       "live, 2 MiB of 4 MiB reserved");
        const std::string page{e.report()};
        for (const char* part :
             {"out of device memory: 1 GiB aligned to 256 bytes refused\n",
              "device allocator orders (set task_memory_raises) on device 0\n",
              "limit 4 MiB, reserved 2 MiB in 1 piece", "live 1 MiB in 1 block, free 1 MiB, largest free run 1 MiB\n",
              "stranded by stream 1 MiB (2 streams)", ": 1 MiB free in 1 runs, largest 1 MiB\n"})
            CHECK(page.find(part) != std::string::npos);
    }
    gpu.deallocate(q, m.b);
}
#endif
