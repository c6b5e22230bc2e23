// Replays traces on allocators of device memory: host cost per call, memory held, and the cost of a request that fails.
//
//   allocators [--simulated] [--rounds N] [--seconds S] [--subject NAME] TRACE...
//   allocators --list                                                              prints the subjects
//
// Exit code: 0; 77 without a GPU; 1 if a request failed that should not. tools/gpu-check runs one process per subject,
// so that none inherits memory of another. To add an allocator, add a line to on_device.
#include "replay.hpp"
#include "subjects.hpp"
#include "subjects_cuda.hpp"

#include <allot/device/cuda.hpp>
#include <allot/device/simulated.hpp>
#include <allot/device_allocator/device_allocator.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace device = allot::device;

namespace {

template <class Api> struct own_set : allot::policies<allot::page::on_device<Api>, allot::oom::null> {};

struct asked {
    bool simulated = false, list = false;
    int rounds = 3;
    double seconds = 20;
    std::string subject;
    std::vector<gpu::trace> traces;
    std::size_t failed = 0, met = 0;

    template <class Api, class Make> void on(const Api& api, const char* name, Make make) {
        if (list) std::puts(name);
        if (list || (!subject.empty() && subject != name)) return;
        ++met;
        for (const gpu::trace& t : traces) failed += gpu::replay(api, name, make, t, rounds, seconds);
        gpu::refusal(api, name, make);
    }
};

void on_device(asked& ask) {
    const device::cuda api{};
    ask.on(api, "allot", [] { return allot::device_allocator<own_set<device::cuda>>{}; });
    ask.on(api, "cudaMalloc", [&] { return gpu::plain<device::cuda>{api}; });
    ask.on(api, "cudaMallocAsync", [&] { return gpu::pooled<device::cuda>{api}; });
    ask.on(api, "cudaMallocAsync_keeping", [] { return gpu::keeping_pool{}; });
    ask.on(api, "cudaMallocAsync_own_pool", [] { return gpu::own_pool{}; });
    ask.on(api, "cub_caching", [] { return gpu::cub_cache{}; });
    ask.on(api, "thrust_pool", [] { return gpu::thrust_pool<thrust::mr::disjoint_unsynchronized_pool_resource>{}; });
    ask.on(api, "thrust_pool_locked",
           [] { return gpu::thrust_pool<thrust::mr::disjoint_synchronized_pool_resource>{}; });
}

// The same code over the simulated device: it finds mistakes in traces and replay, and its times say nothing of a GPU.
std::uint64_t on_simulated(asked& ask) {
    device::simulator sim{{.total_bytes = std::size_t{100} << 30, .execution = device::execution::none}};
    const device::simulated api{sim};
    ask.on(api, "allot", [&] { return allot::device_allocator<own_set<device::simulated>>{api}; });
    ask.on(api, "cudaMalloc", [&] { return gpu::plain<device::simulated>{api}; });
    ask.on(api, "cudaMallocAsync", [&] { return gpu::pooled<device::simulated>{api}; });
    return sim.hazards() + sim.leaks();
}

} // namespace

int main(int argc, char** argv) try {
    asked ask;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto value = [&] { return ++i < argc ? argv[i] : ""; };
        if (word == "--simulated") ask.simulated = true;
        else if (word == "--list") ask.list = true;
        else if (word == "--rounds") ask.rounds = std::atoi(value());
        else if (word == "--seconds") ask.seconds = std::atof(value());
        else if (word == "--subject") ask.subject = value();
        else ask.traces.push_back(gpu::read_trace(word));
    }
    if (ask.list) {
        on_device(ask);
        return 0;
    }
    std::uint64_t wrong = 0;
    if (ask.simulated) {
        wrong = on_simulated(ask);
    } else if (device::cuda{}.device_count().value_or(0) == 0) {
        std::puts("skipped: no GPU");
        return 77;
    } else {
        on_device(ask);
    }
    if (ask.met == 0 || ask.traces.empty()) {
        std::fprintf(stderr, "allocators: no such subject, or no trace\n");
        return 1;
    }
    if (wrong != 0)
        std::fprintf(stderr, "allocators: %llu hazards and leaks\n", static_cast<unsigned long long>(wrong));
    return ask.failed == 0 && wrong == 0 ? 0 : 1;
} catch (const std::exception& e) {
    std::fprintf(stderr, "allocators: %s\n", e.what());
    return 1;
}
