// The calls of the simulated device: for allot_device_calls, which measures their time, and allot_instructions, which
// counts them.
#pragma once

#include <allot/device/simulated.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace bench {

struct device_machine {
    explicit device_machine(std::size_t n)
        : sim{{.total_bytes = std::size_t{1} << 40,
               .execution = allot::device::execution::none,
               .sink = allot::device::hazard_sink::quiet()}},
          api{sim} {
        const auto memory = api.allocate({0}, blocks << 12);
        if (!memory) std::fputs("the simulated device has no memory\n", stderr), std::abort();
        segment = static_cast<std::byte*>(*memory);
        for (std::size_t i = 0; i != n; ++i) {
            streams.push_back(*api.create_stream({0}, allot::device::stream_kind::non_blocking));
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
    allot::device::simulator sim;
    allot::device::simulated api;
    std::byte* segment;
    std::vector<allot::device::simulated::stream_type> streams;
    std::vector<allot::device::simulated::event_type> events;
    std::mt19937_64 random{1};
};

struct device_call {
    const char* name;
    void (*call)(device_machine&, std::size_t i);
};

inline constexpr device_call device_calls[] = {
    {"stream_id", [](device_machine& m, std::size_t i) { (void)m.api.stream_id(m.streams[i % m.streams.size()]); }},
    {"record",
     [](device_machine& m, std::size_t i) {
         (void)m.api.record(m.events[i % m.events.size()], m.streams[i % m.events.size()]);
     }},
    {"wait",
     [](device_machine& m, std::size_t i) {
         (void)m.api.wait(m.streams[(i + 1) % m.streams.size()], m.events[i % m.events.size()]);
     }},
    {"query an event", [](device_machine& m, std::size_t i) { (void)m.api.query(m.events[i % m.events.size()]); }},
    {"launch, no memory", [](device_machine& m, std::size_t) { (void)m.sim.launch(m.streams[0], {}, {}); }},
    {"launch, one block",
     [](device_machine& m, std::size_t) { (void)m.sim.launch(m.streams[0], {}, {{m.block(0), 4096}}); }},
    {"free, allocate and write one of 10,000 blocks",
     [](device_machine& m, std::size_t) {
         const std::size_t k = m.random() % device_machine::blocks;
         const auto s = m.streams[k % m.streams.size()];
         m.api.mark_freed(m.block(k), 4096, s);
         m.api.mark_allocated(m.block(k), 4096, s);
         (void)m.sim.launch(s, {}, {{m.block(k), 4096}});
     }},
};

} // namespace bench
