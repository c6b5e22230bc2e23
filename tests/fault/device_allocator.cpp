// Every call to the device fails once: whichever it is, requests are refused or met by another way, the books agree, no
// order is lost, and nothing is left on the device but what it would not take back.
#include <support/device_sets.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using namespace allot::literals;
namespace device = allot::device;
using device::call;
using device::failure;

namespace {

struct keeping_memory : allot::policies<on_simulated, allot::oom::null, allot::retain::never> {};

constexpr std::size_t most = 8_MiB;

// Growth, reuse by all ways, a capture, a stream that leaves, pieces that go back by trim and by pressure.
template <class Set> class scene {
  public:
    explicit scene(simulated_machine& m) : m_{m}, gpu_{m.api, unheard, allot::limit{most}, allot::name{"scene"}} {}

    void run() {
        const auto a = stream(), b = stream(), c = stream();
        void* const p = use(2_MiB, a);
        void* const q = use(1_MiB, b);
        void* const r = use(1_MiB, c);
        free(p, a);
        free(use(1_MiB, b), b); // by an event of a and a wait
        free(q, b);
        free(r, c);
        free(use(3_MiB, c), c); // side by side
        free(use(7_MiB, a), a); // by more, or in place of pieces
        free(use(256, b), b);
        if (m_.api.begin_capture(a, device::capture_mode::relaxed)) {
            free(use(512_KiB, a), a);
            auto graph = m_.api.end_capture(a);
            if (!graph) graph = m_.api.end_capture(a);
            if (graph) {
                (void)m_.api.launch_graph(*graph, a);
                (void)m_.api.destroy_graph(*graph);
            }
        }
        release_captured(a);
        free(use(6_MiB, b), b);
        free(use(256, b), b);
        gpu_.leave(a);
        destroy(a);
        free(use(4_MiB, c), c);
        gpu_.trim();
        agree();
        gpu_.leave(b);
        gpu_.leave(c);
        destroy(b);
        destroy(c);
    }
    // All was freed: where no call fails any more, all of it serves.
    void recovers() {
        const auto s = stream();
        release_captured(s); // what was freed when nobody could tell on which stream
        gpu_.trim();
        CHECK(gpu_.stats().live == 0);
        void* const p = gpu_.try_allocate(std::is_same_v<Set, keeping_memory> ? 1_MiB : most - 2_MiB,
                                          s); // what is kept may lie apart
        CHECK(p != nullptr);
        gpu_.deallocate(p, s);
        gpu_.leave(s);
        destroy(s);
        agree();
    }

  private:
    using stream_type = simulated_machine::stream;

    // Streams are the scene's own affair: it tries again.
    stream_type stream() {
        for (;;)
            if (const auto s = m_.api.create_stream({0}, device::stream_kind::non_blocking)) return *s;
    }
    // After all that was freed, on whichever stream.
    void release_captured(stream_type s) {
        if (m_.api.synchronize(allot::device_id{0})) gpu_.release_captured(s);
    }
    void destroy(stream_type s) {
        if (!m_.api.destroy_stream(s)) (void)m_.api.destroy_stream(s);
    }
    void* use(std::size_t bytes, stream_type s) {
        const std::size_t held = gpu_.used();
        void* const p = gpu_.try_allocate(bytes, s);
        if (p != nullptr) (void)m_.sim.launch(s, {}, {{p, bytes}}, nullptr, "kernel");
        else CHECK(gpu_.used() <= held); // it may have given back
        agree();
        return p;
    }
    void free(void* p, stream_type s) {
        gpu_.deallocate(p, s);
        agree();
    }
    void agree() {
        CHECK(gpu_.valid());
        CHECK(gpu_.used() <= most);
        CHECK(gpu_.peak() <= most);
    }

    simulated_machine& m_;
    allot::device_allocator<Set> gpu_;
};

// What stays on the device where it refuses to take it back: what it was to take, and where it was.
constexpr std::size_t leaks_of(call c) {
    for (const call one : {call::deallocate, call::free_address, call::destroy_event, call::destroy_graph})
        if (c == one) return 1;
    return c == call::unmap ? 2 : 0;
}

// Runs the scene with the first, second, ... call of this kind failing, until none is left to fail. Returns how many
// there are.
template <class Set> std::uint64_t fail_each(call c, failure kind, const device::simulator_options& options) {
    for (std::uint64_t k = 1;; ++k) {
        INFO(text_of(c) << " number " << k << ": " << text_of(kind));
        simulated_machine m{options};
        bool has_failed = false;
        {
            scene<Set> all{m};
            m.sim.fail(c, {.nth = k, .kind = kind});
            all.run();
            has_failed = m.sim.count(c) >= k;
            m.sim.revive();
            all.recovers();
        }
        CHECK(m.sim.hazards() == 0);
        CHECK(m.sim.leaks() == (has_failed ? leaks_of(c) : 0));
        if (!has_failed) return k - 1;
        REQUIRE(k < 1000);
    }
}
template <class Set> std::uint64_t fail_all(failure kind, const device::simulator_options& options) {
    std::uint64_t n = 0;
    for (std::size_t c = 0; c != device::calls; ++c) n += fail_each<Set>(static_cast<call>(c), kind, options);
    return n;
}

} // namespace

TEMPLATE_TEST_CASE("a device allocator survives the failure of each call to the device", "[fault][device]", task_memory,
                   keeping_memory) {
    for (const bool virtual_memory : {true, false})
        for (const failure kind : {failure::out_of_memory, failure::other})
            CHECK(fail_all<TestType>(kind, {.virtual_memory = virtual_memory, .execution = device::execution::none}) >
                  100);
}

TEST_CASE("a device allocator survives a device that is lost at any call", "[fault][device]") {
    std::uint64_t k = 1;
    for (std::uint64_t calls = 2; k < calls; ++k) {
        INFO("call " << k);
        simulated_machine m;
        const auto s = m.make_stream();
        allot::device_allocator<task_memory> gpu{m.api, unheard, allot::limit{most}};
        const auto count = [&] {
            std::uint64_t n = 0;
            for (std::size_t c = 0; c != device::calls; ++c) n += m.sim.count(static_cast<call>(c));
            return n;
        };
        const std::uint64_t first = count();
        m.sim.fail_any({.nth = k, .kind = failure::device_lost, .sticky = true});
        for (int round = 0; round != 4; ++round) {
            std::vector<void*> all;
            for (const std::size_t bytes : {1_MiB, 3_MiB, 256_KiB}) all.push_back(gpu.try_allocate(bytes, s));
            for (void* p : all) gpu.deallocate(p, s);
            CHECK(gpu.valid());
            CHECK(gpu.used() <= most);
        }
        gpu.trim();
        CHECK(gpu.valid());
        CHECK(gpu.stats().live == 0);
        calls = count() - first;
        if (k <= calls) {
            CHECK(gpu.try_allocate(256, s) == nullptr);
            CHECK(gpu.last_error().kind == failure::device_lost);
        }
        m.sim.revive();
        CHECK(m.sim.hazards() == 0);
        REQUIRE(k < 1000);
    }
    CHECK(k > 40);
}
