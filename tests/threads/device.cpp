// Many threads on one simulated machine: each with streams of its own, handing blocks to each other with events.
#include <support/simulated_machine.hpp>

#include <atomic>
#include <mutex>
#include <random>
#include <thread>

using namespace allot::literals;
namespace device = allot::device;

namespace {

constexpr std::size_t block_bytes = 256, blocks = 16;
constexpr unsigned threads = 4, rounds = 400;

struct handed {
    std::byte* block;
    device::simulated::event_type freed;
};

// Blocks go from thread to thread; `wait` is what makes that right. Gives the wrong bytes that were seen.
std::uint64_t pass_blocks(device::simulator& sim, bool wait) {
    const device::simulated api{sim};
    auto* const segment = static_cast<std::byte*>(*api.allocate({0}, blocks * block_bytes));
    std::mutex lock;
    std::vector<handed> idle;
    for (std::size_t i = 0; i != blocks; ++i) idle.push_back({segment + i * block_bytes, *api.create_event({0})});
    std::atomic<std::uint64_t> wrong{0}, failed{0};
    const auto pass = [&](unsigned me) {
        const auto need = [&](const auto& r) {
            if (!r) ++failed;
        };
        const auto mine = api.create_stream({0}, device::stream_kind::non_blocking).value_or({});
        std::mt19937 random{me};
        for (unsigned i = 0; i != rounds; ++i) {
            handed h;
            {
                const std::lock_guard held{lock};
                std::swap(idle[random() % idle.size()], idle.back());
                h = idle.back();
                idle.pop_back();
            }
            const auto stream = i % 5 == 0 ? api.per_thread_stream() : mine;
            if (wait) need(api.wait(stream, h.freed));
            api.mark_allocated(h.block, block_bytes, stream);
            const auto value = static_cast<unsigned char>(me * 50 + i % 50);
            need(api.fill_async(h.block, value, block_bytes, stream));
            need(sim.launch(stream, {{h.block, block_bytes}}, {}, [&wrong, b = h.block, value] {
                wrong += b[0] != std::byte{value} || b[block_bytes - 1] != std::byte{value};
            }));
            api.mark_freed(h.block, block_bytes, stream);
            need(api.record(h.freed, stream));
            if (i % 16 == 0) (void)api.query(h.freed);
            const std::lock_guard held{lock};
            idle.push_back(h);
        }
        need(api.synchronize(mine));
        need(api.destroy_stream(mine));
    };
    std::vector<std::thread> all;
    for (unsigned t = 0; t != threads; ++t) all.emplace_back(pass, t);
    for (std::thread& t : all) t.join();
    CHECK(failed == 0);
    CHECK(api.synchronize(allot::device_id{0}));
    for (const handed& h : idle) CHECK(api.destroy_event(h.freed));
    CHECK(api.deallocate({0}, segment));
    CHECK(sim.leaks() == 0);
    return wrong;
}

} // namespace

TEST_CASE("threads hand blocks to each other on a simulated device", "[device]") {
    for (const auto execution : {device::execution::none, device::execution::immediate, device::execution::delayed}) {
        device::simulator sim{{.execution = execution}};
        CHECK(pass_blocks(sim, true) == 0);
        CHECK(sim.hazards() == 0);
    }
}

TEST_CASE("threads that forget to wait are reported", "[device]") {
    device::simulator sim{{.execution = device::execution::none, .sink = device::hazard_sink::quiet()}};
    CHECK(pass_blocks(sim, false) == 0);
    CHECK(sim.hazards() > 20);
}
