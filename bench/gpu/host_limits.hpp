// The host cost of the calls of a device's api: a lower bound for every allocator. Works over any model of the seam;
// results over the simulated device say nothing about a GPU.
#pragma once

#include "figures.hpp"

#include <allot/device/api.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace gpu {

/// Median over batches of what one call of `work` takes; false from it means that the api refused.
template <class Work> void time_calls(const std::string& name, int calls, Work&& work) {
    constexpr int batches = 9;
    std::vector<double> each;
    for (int batch = 0; batch != batches; ++batch) {
        const double start = now_ns();
        for (int i = 0; i != calls; ++i)
            if (!work(i)) return no_figure(name, "the call failed");
        each.push_back((now_ns() - start) / calls);
    }
    std::sort(each.begin(), each.end());
    figure(name, each[batches / 2], "ns");
}

template <class Api> void memory_limits(const Api& api, typename Api::stream_type stream) {
    constexpr std::size_t small = std::size_t{2} << 20, large = std::size_t{64} << 20;
    for (const std::size_t bytes : {small, large}) {
        const std::string of = ", " + std::to_string(bytes >> 20) + " MiB";
        time_calls("cudaMalloc + cudaFree" + of, 20, [&](int) {
            const auto p = api.allocate({0}, bytes);
            return p && api.deallocate({0}, *p);
        });
        time_calls("cudaMallocAsync + cudaFreeAsync, default pool" + of, 200, [&](int) {
            const auto p = api.allocate_async(bytes, stream);
            return p && api.deallocate_async(*p, stream);
        });
        (void)api.synchronize(stream);
    }
    time_calls("cudaHostAlloc + cudaFreeHost, 2 MiB", 5, [&](int) {
        const auto p = api.allocate_pinned(small);
        return p && api.deallocate_pinned(*p);
    });
}

/// Each step of growth by mapping, for one handle: as an allocator grows its range.
template <class Api> void mapping_limits(const Api& api, std::size_t bytes) {
    constexpr int handles = 16;
    const std::string of = ", " + std::to_string(bytes >> 20) + " MiB";
    const auto range = api.reserve({0}, handles * bytes, 0);
    if (!range) return no_figure("cuMemMap" + of, "no address space");
    auto* const start = static_cast<std::byte*>(*range);
    const auto at = [&](int i) { return start + static_cast<std::size_t>(i) * bytes; };
    std::vector<typename Api::memory_type> memory(handles);
    double took[5] = {};
    constexpr int rounds = 4; // the first warms up
    bool good = true;
    for (int round = 0; round != rounds && good; ++round) {
        const auto step = [&](int which, auto&& work) {
            const double began = now_ns();
            for (int i = 0; i != handles && good; ++i) good = work(i);
            if (round != 0) took[which] += (now_ns() - began) / (handles * (rounds - 1));
        };
        step(0, [&](int i) {
            const auto made = api.create({0}, bytes);
            memory[static_cast<std::size_t>(i)] = made.value_or({});
            return static_cast<bool>(made);
        });
        step(1, [&](int i) { return static_cast<bool>(api.map(at(i), memory[static_cast<std::size_t>(i)], bytes)); });
        step(2, [&](int i) {
            return static_cast<bool>(api.set_access(at(i), bytes, {0}, allot::device::access::read_write));
        });
        step(3, [&](int i) { return static_cast<bool>(api.unmap(at(i), bytes)); });
        step(4, [&](int i) { return static_cast<bool>(api.release(memory[static_cast<std::size_t>(i)])); });
    }
    const char* const names[] = {"cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap", "cuMemRelease"};
    for (int i = 0; i != 5; ++i)
        good ? figure(names[i] + of, took[i], "ns") : no_figure(names[i] + of, "a call failed");
    (void)api.free_address(start, handles * bytes);
}

template <class Api> void stream_limits(const Api& api, typename Api::stream_type a, typename Api::stream_type b) {
    time_calls("event: create + destroy", 200, [&](int) {
        const auto e = api.create_event({0});
        return e && api.destroy_event(*e);
    });
    const auto event = api.create_event({0});
    if (!event) return no_figure("event: record", "no event");
    time_calls("event: record", 500, [&](int) { return static_cast<bool>(api.record(*event, a)); });
    (void)api.synchronize(a);
    time_calls("event: wait on another stream, done", 500, [&](int) { return static_cast<bool>(api.wait(b, *event)); });
    time_calls("event: query, done", 500, [&](int) { return static_cast<bool>(api.query(*event)); });
    time_calls("event: record + wait on another stream", 500,
               [&](int) { return api.record(*event, a) && api.wait(b, *event); });
    (void)api.synchronize(b);
    time_calls("stream: id", 1000, [&](int) { return static_cast<bool>(api.stream_id(a)); });
    time_calls("stream: is it captured", 1000, [&](int) { return static_cast<bool>(api.capturing(a)); });
    time_calls("stream: synchronize, idle", 200, [&](int) { return static_cast<bool>(api.synchronize(a)); });
    time_calls("cudaMemGetInfo", 20, [&](int) { return static_cast<bool>(api.memory_of({0})); });
    (void)api.destroy_event(*event);
}

template <class Api> void host_limits(const Api& api) {
    const auto a = api.create_stream({0}, allot::device::stream_kind::non_blocking);
    const auto b = api.create_stream({0}, allot::device::stream_kind::non_blocking);
    if (!a || !b) return no_figure("streams", "no stream");
    stream_limits(api, *a, *b);
    memory_limits(api, *a);
    for (const std::size_t mib : {2, 64}) mapping_limits(api, mib << 20);
    (void)api.destroy_stream(*a);
    (void)api.destroy_stream(*b);
}

} // namespace gpu
