// Replays a trace on an allocator, and measures the host cost of each call and the memory that the allocator holds.
//
// A subject has `void* try_allocate(bytes, align, stream)`, null on failure, and `deallocate(p, bytes, stream)` or
// `deallocate(p, stream)`. Its stream writes up to 4 KiB of each block after the allocation, so that the stream has
// work when the block is freed. That work, waits and memory queries are not timed; two clock reads per call are. Round
// 0 is cold.
#pragma once

#include "figures.hpp"
#include "trace.hpp"

#include <allot/device/api.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace gpu {

struct round_figures {
    std::vector<std::uint32_t> allocate_ns, deallocate_ns;
    std::size_t done = 0, failed = 0, held = 0, live = 0;
    double wall_ns = 0;
    bool cut = false; // time ran out
};

template <class Api> std::size_t used_memory(const Api& api) {
    const auto m = api.memory_of({0}).value_or({});
    return m.total_bytes - m.free_bytes;
}

template <class Api, class Subject>
round_figures replay_once(const Api& api, Subject& subject, const trace& t,
                          const std::vector<typename Api::stream_type>& streams, std::size_t used_before,
                          double until_ns) {
    round_figures r;
    std::vector<std::pair<void*, std::size_t>> blocks(t.ids);
    const auto event = api.create_event({0}).value_or({});
    const auto free = [&](std::size_t id, typename Api::stream_type stream) {
        auto& [p, bytes] = blocks[id];
        if (p == nullptr) return;
        const double start = now_ns();
        if constexpr (requires { subject.deallocate(p, bytes, stream); }) subject.deallocate(p, bytes, stream);
        else subject.deallocate(p, stream);
        r.deallocate_ns.push_back(static_cast<std::uint32_t>(now_ns() - start));
        r.live -= bytes;
        p = nullptr;
    };
    const double began = now_ns();
    for (const operation& o : t.operations) {
        const auto stream = streams[o.stream];
        if (o.what == operation::wait) {
            (void)api.record(event, streams[o.other]);
            (void)api.wait(stream, event);
        } else if (o.what == operation::deallocate) {
            free(o.id, stream);
        } else {
            const double start = now_ns();
            void* const p = subject.try_allocate(o.bytes, o.align, stream);
            r.allocate_ns.push_back(static_cast<std::uint32_t>(now_ns() - start));
            if (p == nullptr || reinterpret_cast<std::uintptr_t>(p) % o.align != 0) ++r.failed;
            if (p != nullptr) {
                blocks[o.id] = {p, o.bytes};
                r.live += o.bytes;
                (void)api.fill_async(p, 0x5A, std::min<std::size_t>(o.bytes, 4096), stream);
            }
        }
        if (r.done++ == t.peak_at) {
            const std::size_t used = used_memory(api);
            r.held = used > used_before ? used - used_before : 0;
        }
        if (now_ns() > until_ns) {
            r.cut = true;
            break;
        }
    }
    r.wall_ns = now_ns() - began;
    (void)api.synchronize(allot::device_id{0});
    for (std::size_t id = 0; id != t.ids; ++id) free(id, streams[0]); // only where the round was cut
    (void)api.synchronize(allot::device_id{0});
    (void)api.destroy_event(event);
    return r;
}

/// Rounds of one trace on one subject; a line of figures for each. Returns how many requests were not met.
template <class Api, class Make>
std::size_t replay(const Api& api, const char* name, Make&& make, const trace& t, int rounds, double seconds) {
    std::vector<typename Api::stream_type> streams;
    for (unsigned i = 0; i != t.streams; ++i)
        streams.push_back(api.create_stream({0}, allot::device::stream_kind::non_blocking).value_or({}));
    (void)api.synchronize(allot::device_id{0});
    const std::size_t before = used_memory(api);
    const double until = now_ns() + seconds * 1e9;
    std::size_t failed = 0;
    {
        auto subject = make();
        for (int round = 0; round != rounds; ++round) {
            round_figures r = replay_once(api, subject, t, streams, before, until);
            const quantiles a = quantiles_of(r.allocate_ns), d = quantiles_of(r.deallocate_ns);
            std::printf("{\"trace\": \"%s\", \"subject\": \"%s\", \"round\": %d, \"operations\": %zu, \"of\": %zu, "
                        "\"failed\": %zu, "
                        "\"allocate_p50_ns\": %.0f, \"allocate_p99_ns\": %.0f, \"allocate_max_ns\": %.0f, "
                        "\"deallocate_p50_ns\": %.0f, \"deallocate_p99_ns\": %.0f, \"deallocate_max_ns\": %.0f, "
                        "\"wall_ms\": %.2f, \"peak_live_bytes\": %zu, \"held_at_peak_bytes\": %zu}\n",
                        t.name.c_str(), name, round, r.done, t.operations.size(), r.failed, a.p50, a.p99, a.max, d.p50,
                        d.p99, d.max, r.wall_ns / 1e6, t.peak_live, r.held);
            std::fflush(stdout);
            failed += r.failed;
            if (r.cut) break;
        }
    }
    for (const auto s : streams) (void)api.destroy_stream(s);
    return failed;
}

/// How long a request takes that no device meets: more than there is, asked by an allocator that holds some memory.
template <class Api, class Make> void refusal(const Api& api, const char* name, Make&& make) {
    const std::string what = std::string{name} + ": refuses more than there is";
    const auto stream = api.create_stream({0}, allot::device::stream_kind::non_blocking).value_or({});
    const std::size_t most = api.memory_of({0}).value_or({}).total_bytes + (std::size_t{2} << 20);
    {
        auto subject = make();
        const auto free = [&](void* p, std::size_t bytes) {
            if constexpr (requires { subject.deallocate(p, bytes, stream); }) subject.deallocate(p, bytes, stream);
            else subject.deallocate(p, stream);
        };
        constexpr std::size_t some = std::size_t{64} << 20;
        if (void* const p = subject.try_allocate(some, 256, stream)) free(p, some);
        bool met = false;
        std::vector<std::uint32_t> took;
        for (int i = 0; i != 9 && !met; ++i) {
            const double start = now_ns();
            void* const p = subject.try_allocate(most, 256, stream);
            took.push_back(static_cast<std::uint32_t>(now_ns() - start));
            met = p != nullptr;
            if (met) free(p, most);
        }
        met ? no_figure(what, "it was met") : figure(what, quantiles_of(took).p50, "ns");
    }
    (void)api.synchronize(allot::device_id{0});
    (void)api.destroy_stream(stream);
}

} // namespace gpu
