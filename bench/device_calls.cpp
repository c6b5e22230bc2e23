// allot_device_calls: host work of each call of the simulated device. Prints a Markdown table for docs/device.md. Exit
// code 1 if a call takes more than ten times the number on that page, or a correct program reports a hazard.
//
//     allot_device_calls [--smoke]        --smoke: fewer calls
#include <harness/measure.hpp>

#include <allot/device/simulated.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace device = allot::device;

namespace {

struct machine {
    explicit machine(std::size_t n)
        : sim{{.total_bytes = std::size_t{1} << 40,
               .execution = device::execution::none,
               .sink = device::hazard_sink::quiet()}},
          api{sim} {
        segment = static_cast<std::byte*>(*api.allocate({0}, std::size_t{1} << 30));
        for (std::size_t i = 0; i != n; ++i) {
            streams.push_back(*api.create_stream({0}, device::stream_kind::non_blocking));
            events.push_back(*api.create_event({0}));
        }
        for (std::size_t i = 0; i != 4 * n; ++i) { // so that everybody has heard of everybody
            (void)sim.launch(streams[i % n], {}, {{block(i), 64}});
            (void)api.record(events[i % n], streams[i % n]);
            (void)api.wait(streams[(i + 1) % n], events[i % n]);
        }
        (void)api.synchronize(allot::device_id{0});
        for (std::size_t i = 0; i != blocks; ++i) api.mark_allocated(block(i), 4096, streams[i % n]);
    }
    std::byte* block(std::size_t i) const { return segment + (i << 12); }

    static constexpr std::size_t blocks = 10'000;
    device::simulator sim;
    device::simulated api;
    std::byte* segment;
    std::vector<device::simulated::stream_type> streams;
    std::vector<device::simulated::event_type> events;
    std::mt19937_64 random{1};
};

struct measured {
    const char* name;
    double ceiling; // ns
    void (*call)(machine&, std::size_t i);
};

constexpr measured all[] = {
    {"stream_id", 200, [](machine& m, std::size_t i) { (void)m.api.stream_id(m.streams[i % m.streams.size()]); }},
    {"record", 400,
     [](machine& m, std::size_t i) {
         (void)m.api.record(m.events[i % m.events.size()], m.streams[i % m.events.size()]);
     }},
    {"wait", 700,
     [](machine& m, std::size_t i) {
         (void)m.api.wait(m.streams[(i + 1) % m.streams.size()], m.events[i % m.events.size()]);
     }},
    {"query an event", 700, [](machine& m, std::size_t i) { (void)m.api.query(m.events[i % m.events.size()]); }},
    {"launch, no memory", 300, [](machine& m, std::size_t) { (void)m.sim.launch(m.streams[0], {}, {}); }},
    {"launch, one block", 400,
     [](machine& m, std::size_t) { (void)m.sim.launch(m.streams[0], {}, {{m.block(0), 4096}}); }},
    {"free, allocate and write one of 10,000 blocks", 3000,
     [](machine& m, std::size_t) {
         const std::size_t k = m.random() % machine::blocks;
         const auto s = m.streams[k % m.streams.size()];
         m.api.mark_freed(m.block(k), 4096, s);
         m.api.mark_allocated(m.block(k), 4096, s);
         (void)m.sim.launch(s, {}, {{m.block(k), 4096}});
     }},
};

double nanoseconds(machine& m, const measured& what, std::size_t calls) {
    std::vector<double> rounds;
    for (int round = 0; round != 9; ++round) {
        const double start = bench::cpu_ns();
        for (std::size_t i = 0; i != calls; ++i) what.call(m, i);
        rounds.push_back((bench::cpu_ns() - start) / static_cast<double>(calls));
    }
    std::nth_element(rounds.begin(), rounds.begin() + 4, rounds.end());
    return rounds[4];
}

} // namespace

int main(int argc, char** argv) {
    const std::size_t calls = argc > 1 && std::strcmp(argv[1], "--smoke") == 0 ? 10'000 : 300'000;
    machine machines[] = {machine{2}, machine{16}, machine{64}};
    bool good = true;
    std::printf("| ns of host work | 2 streams | 16 | 64 |\n|---|---|---|---|\n");
    for (const measured& what : all) {
        std::printf("| %s |", what.name);
        for (machine& m : machines) {
            const double ns = nanoseconds(m, what, calls);
            std::printf(" %.0f |", ns);
            good = good && ns <= what.ceiling;
        }
        std::printf("\n");
    }
    for (machine& m : machines) good = good && m.sim.hazards() == 0;
    return good ? 0 : 1;
}
