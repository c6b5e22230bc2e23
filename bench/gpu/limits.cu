// Physical limits of a device, which no allocator exceeds: copies, atomics, launches, and the api's own calls.
//
//   limits [--simulated]      --simulated: only the api's calls, on the simulated device
//
// Exit code: 0; 77 without a GPU; 1 if a kernel failed or counted wrong.
#include "host_limits.hpp"

#include <allot/device/cuda.hpp>
#include <allot/device/simulated.hpp>
#include <allot/kernel/aggregated_fetch_add.hpp>
#include <allot/kernel/lanes_warp.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

using namespace allot;

namespace {

int wrong = 0;
bool good(cudaError_t code, const char* what) {
    if (code == cudaSuccess) return true;
    std::fprintf(stderr, "limits: %s: %s\n", what, cudaGetErrorString(code));
    ++wrong;
    return false;
}

} // namespace

constexpr unsigned threads = 256, rounds = 64;

__global__ void nothing() {}
__global__ void copy_words(uint4* to, const uint4* from, std::size_t n) {
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) to[i] = from[i];
}
// What an addition returns is used, or the compiler would count for a whole warp at once.
__global__ void count_by_atomics(std::uint32_t* counters, std::uint32_t mask, std::uint32_t* out) {
    const std::uint32_t id = blockIdx.x * blockDim.x + threadIdx.x;
    std::uint32_t sum = 0;
    for (unsigned i = 0; i != rounds; ++i)
        sum ^= scoped<thread_scope::device>(counters[std::size_t{id & mask} * 8])
                   .fetch_add(1U, ordered::relaxed); // 32 bytes apart
    out[id] = sum;
}
__global__ void count_by_bump(std::uint32_t* counters, std::uint32_t mask, std::uint32_t* out) {
    warp lanes;
    const std::uint32_t id = blockIdx.x * blockDim.x + threadIdx.x;
    std::uint32_t sum = 0;
    for (unsigned i = 0; i != rounds; ++i)
        sum ^= aggregated_fetch_add<thread_scope::device>(lanes,
                                                          counters[std::size_t{(id >> 5) & mask} * 8]); // one a warp
    out[id] = sum;
}

namespace {

/// The best of some runs, in ms of device time; 0 if one failed.
template <class Work> double device_ms(cudaStream_t stream, Work&& work) {
    cudaEvent_t from = nullptr, to = nullptr;
    if (!good(cudaEventCreate(&from), "event") || !good(cudaEventCreate(&to), "event")) return 0;
    double best = 0;
    for (int i = 0; i != 8; ++i) {
        (void)cudaEventRecord(from, stream);
        work();
        (void)cudaEventRecord(to, stream);
        float ms = 0;
        if (!good(cudaGetLastError(), "launch") || !good(cudaStreamSynchronize(stream), "kernel") ||
            !good(cudaEventElapsedTime(&ms, from, to), "event"))
            return 0;
        if (i != 0 && (best == 0 || static_cast<double>(ms) < best)) best = static_cast<double>(ms);
    }
    (void)cudaEventDestroy(from);
    (void)cudaEventDestroy(to);
    return best;
}

void copies(cudaStream_t stream, int multiprocessors) {
    constexpr std::size_t bytes = std::size_t{1} << 30;
    void *a = nullptr, *b = nullptr;
    if (!good(cudaMalloc(&a, bytes), "cudaMalloc") || !good(cudaMalloc(&b, bytes), "cudaMalloc")) return;
    const auto rate = [&](double ms) { return ms > 0 ? 2.0 * static_cast<double>(bytes) / ms / 1e6 : 0; };
    const auto blocks = static_cast<unsigned>(multiprocessors * 16);
    gpu::figure("device copy by a kernel, read + write",
                rate(device_ms(stream,
                               [&] {
                                   copy_words<<<blocks, threads, 0, stream>>>(static_cast<uint4*>(a),
                                                                              static_cast<uint4*>(b), bytes / 16);
                               })),
                "GB/s");
    gpu::figure("device copy by cudaMemcpyAsync, read + write",
                rate(device_ms(stream, [&] { (void)cudaMemcpyAsync(a, b, bytes, cudaMemcpyDeviceToDevice, stream); })),
                "GB/s");
    gpu::figure("cudaMemsetAsync, write",
                rate(device_ms(stream, [&] { (void)cudaMemsetAsync(a, 1, bytes, stream); })) / 2, "GB/s");
    (void)cudaFree(a);
    (void)cudaFree(b);
}

void atomics(cudaStream_t stream, int multiprocessors) {
    const auto blocks = static_cast<unsigned>(multiprocessors * 8);
    const std::size_t all = std::size_t{blocks} * threads;
    constexpr std::uint32_t most = 1U << 16;
    std::uint32_t *counters = nullptr, *out = nullptr;
    if (!good(cudaMalloc(&counters, most * 32), "cudaMalloc") || !good(cudaMalloc(&out, all * 4), "cudaMalloc")) return;
    const auto run = [&](const std::string& name, auto kernel, std::uint32_t n) {
        (void)cudaMemsetAsync(counters, 0, most * 32, stream);
        int runs = 0;
        const double ms = device_ms(stream, [&] {
            ++runs;
            kernel<<<blocks, threads, 0, stream>>>(counters, n - 1, out);
        });
        if (ms <= 0) return gpu::no_figure(name, "the kernel failed");
        std::vector<std::uint32_t> counted(most * 8);
        if (!good(cudaMemcpy(counted.data(), counters, most * 32, cudaMemcpyDeviceToHost), "cudaMemcpy")) return;
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i != most; ++i) sum += counted[i * 8];
        if (sum != std::uint64_t{all} * rounds * static_cast<unsigned>(runs)) {
            ++wrong;
            return gpu::no_figure(name, "counted wrong");
        }
        gpu::figure(name, static_cast<double>(all) * rounds / ms / 1e6, "G/s");
    };
    run("atomic additions, one address", count_by_atomics, 1);
    run("atomic additions, 65536 addresses", count_by_atomics, most);
    run("aggregated bump, one counter", count_by_bump, 1);
    run("aggregated bump, 64 counters", count_by_bump, 64);
    run("aggregated bump, 1024 counters", count_by_bump, 1024);
    (void)cudaFree(counters);
    (void)cudaFree(out);
}

void launches(cudaStream_t stream) {
    gpu::time_calls("kernel: launch, not waited for", 500, [&](int i) {
        nothing<<<1, 1, 0, stream>>>();
        return i != 499 || cudaStreamSynchronize(stream) == cudaSuccess; // of 500, so that the queue does not fill
    });
    gpu::time_calls("kernel: launch and synchronize", 200, [&](int) {
        nothing<<<1, 1, 0, stream>>>();
        return cudaStreamSynchronize(stream) == cudaSuccess;
    });
}

// The three settings of CUDA's pools: as it is, keeping what it has, and one of our own.
void pools(cudaStream_t stream) {
    cudaMemPool_t own = nullptr, usual = nullptr;
    cudaMemPoolProps what{};
    what.allocType = cudaMemAllocationTypePinned;
    what.location.type = cudaMemLocationTypeDevice;
    std::uint64_t keep = UINT64_MAX;
    if (!good(cudaMemPoolCreate(&own, &what), "cudaMemPoolCreate") ||
        !good(cudaDeviceGetDefaultMemPool(&usual, 0), "pool"))
        return;
    (void)cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &keep);
    const auto pair = [&](cudaMemPool_t pool, bool waits) {
        void* p = nullptr;
        return cudaMallocFromPoolAsync(&p, 2 << 20, pool, stream) == cudaSuccess &&
               cudaFreeAsync(p, stream) == cudaSuccess && (!waits || cudaStreamSynchronize(stream) == cudaSuccess);
    };
    for (const bool waits : {false, true}) {
        const std::string of = waits ? " + synchronize, 2 MiB" : ", 2 MiB";
        gpu::time_calls("pool, default, threshold 0" + of, 50, [&](int) { return pair(usual, waits); });
        (void)cudaMemPoolSetAttribute(usual, cudaMemPoolAttrReleaseThreshold, &keep);
        gpu::time_calls("pool, default, keeping all" + of, 50, [&](int) { return pair(usual, waits); });
        std::uint64_t none = 0;
        (void)cudaMemPoolSetAttribute(usual, cudaMemPoolAttrReleaseThreshold, &none);
        gpu::time_calls("pool, own, keeping all" + of, 50, [&](int) { return pair(own, waits); });
    }
    (void)cudaMemPoolDestroy(own);
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "--simulated") == 0) {
        device::simulator sim{{.total_bytes = std::size_t{8} << 30, .execution = device::execution::none}};
        gpu::host_limits(device::simulated{sim});
        return sim.hazards() + sim.leaks() != 0;
    }
    const device::cuda api{};
    if (api.device_count().value_or(0) == 0) {
        std::puts("skipped: no GPU");
        return 77;
    }
    const int multiprocessors = api.properties_of({0}).value_or({}).multiprocessors;
    const auto stream = api.create_stream({0}, device::stream_kind::non_blocking).value_or(nullptr);
    copies(stream, multiprocessors);
    atomics(stream, multiprocessors);
    launches(stream);
    gpu::host_limits(api);
    pools(stream);
    (void)api.destroy_stream(stream);
    return wrong != 0;
}
