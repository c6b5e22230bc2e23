// What goes back to the device, and when: trim, retain, the end, and a host that is short of memory.
#include <support/device_sets.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace allot::literals;
using allocator = allot::device_allocator<task_memory>;
using call = allocator_machine::call;

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

TEST_CASE("device allocator: at its end it reports what was not freed, and what the device says") {
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
        return allot::detail::host_metadata{}.resize(old, from, to);
    }
};
struct scarce_best : allot::fit::best {
    template <allot::detail::run_tag Tag = allot::detail::no_tag, class = void>
    using of = allot::detail::best_fit_runs<Tag, scarce_metadata>;
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
    CHECK(gpu.stats().live == 1_MiB);
    REQUIRE(m.api.synchronize(allot::device_id{0}));
    (void)gpu.release_captured(m.b);
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
        CHECK(gpu.stats().captured == 2_MiB);
        CHECK(gpu.release_captured(m.b) == 2_MiB);
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
    CHECK(gpu.stats().released == 2);
    CHECK(m.sim.hazards() == 0);
}

#if ALLOT_EXCEPTIONS
TEST_CASE("device allocator: out of memory reports request, limit, live, reserved, the largest run, and who has what "
          "is free") {
    allocator_machine m;
    allot::device_allocator<task_memory_raises> gpu{allot::name{"orders"}, m.api, unheard, allot::limit{4_MiB}};
    void* const p = gpu.allocate(1_MiB, m.a);
    void* const q = gpu.allocate(1_MiB, m.b);
    gpu.deallocate(p, m.a);
    try {
        (void)gpu.allocate(1_GiB, m.a);
        FAIL("no exception");
    } catch (const allot::out_of_memory& e) {
        CHECK(std::string{e.what()} ==
              "allot: out of device memory: 1 GiB aligned to 256 bytes refused by task_memory_raises "
              "orders: over the limit: orders uses 2 MiB of 4 MiB");
        CHECK(e.why().by == allot::refuser::limit);
        const std::string page{e.report()};
        for (const char* part :
             {"out of device memory: 1 GiB aligned to 256 bytes refused: over the limit: orders",
              "device allocator orders (set task_memory_raises) on device 0\n", "limit 4 MiB, charged 2 MiB in 1 piece",
              "live 1 MiB in 1 block, free 1 MiB, largest free run 1 MiB\n", "free after a wait 1 MiB (2 streams)",
              ": 1 MiB free in 1 runs, largest 1 MiB\n"})
            CHECK(page.find(part) != std::string::npos);
    }
    gpu.deallocate(q, m.b);
}
#endif
