// sync on a device: scoped atomics answer as on the host, and lanes of real warps count together without gaps.
#include <allot/kernel/aggregated_fetch_add.hpp>
#include <allot/kernel/lanes_warp.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

using namespace allot;

constexpr int answers = 16;

// What each operation returns and leaves, as one number for each.
template <thread_scope Scope, class T> __host__ __device__ void ask(T& word, std::uint64_t* out, ordered order) {
    const auto w = scoped<Scope>(word);
    w.store(static_cast<T>(-5), ordered::release);
    out[0] = static_cast<std::uint64_t>(w.load(ordered::acquire));
    out[1] = static_cast<std::uint64_t>(w.fetch_add(3, order));
    out[2] = static_cast<std::uint64_t>(w.fetch_sub(9, order));
    out[3] = static_cast<std::uint64_t>(w.fetch_min(7, order));
    out[4] = static_cast<std::uint64_t>(w.fetch_max(100, order));
    out[5] = static_cast<std::uint64_t>(w.fetch_and(0x6C, order));
    out[6] = static_cast<std::uint64_t>(w.fetch_or(0x11, order));
    out[7] = static_cast<std::uint64_t>(w.fetch_xor(0xF0, order));
    out[8] = static_cast<std::uint64_t>(w.exchange(40, order));
    T expected = 41;
    out[9] = w.compare_exchange(expected, 50, order);
    out[10] = static_cast<std::uint64_t>(expected);
    out[11] = w.compare_exchange(expected, 60, order);
    out[12] = static_cast<std::uint64_t>(w.load(ordered::seq_cst));
    w.store(static_cast<T>(-1), ordered::relaxed);
    out[13] = static_cast<std::uint64_t>(w.fetch_add(2, ordered::seq_cst));
    w.store(3, ordered::seq_cst);
    out[14] = static_cast<std::uint64_t>(w.load(ordered::relaxed));
    out[15] = static_cast<std::uint64_t>(word);
}

template <class T> __host__ __device__ void ask_all(T* words, std::uint64_t* out) {
    const ordered orders[] = {ordered::relaxed, ordered::acquire, ordered::release, ordered::acq_rel, ordered::seq_cst};
    for (int i = 0; i != 5; ++i, out += 4 * answers) {
        ask<thread_scope::thread>(words[0], out, orders[i]);
        ask<thread_scope::block>(words[1], out + answers, orders[i]);
        ask<thread_scope::device>(words[2], out + 2 * answers, orders[i]);
        ask<thread_scope::system>(words[3], out + 3 * answers, orders[i]);
    }
}

constexpr int all_answers = 5 * 4 * answers;
struct results {
    std::uint64_t of[4][all_answers];
};
__host__ __device__ void ask_types(results& r) {
    std::int32_t a[4];
    std::uint32_t b[4];
    std::int64_t c[4];
    std::uint64_t d[4];
    ask_all(a, r.of[0]);
    ask_all(b, r.of[1]);
    ask_all(c, r.of[2]);
    ask_all(d, r.of[3]);
}
// The words lie in global memory there: atomics on a thread's own stack are not what a device is for.
__global__ void ask_there(results* r, std::uint64_t* memory) {
    ask_all(reinterpret_cast<std::int32_t*>(memory), r->of[0]);
    ask_all(reinterpret_cast<std::uint32_t*>(memory + 4), r->of[1]);
    ask_all(reinterpret_cast<std::int64_t*>(memory + 8), r->of[2]);
    ask_all(memory + 12, r->of[3]);
}

// Lanes count on one of three counters, and leave some rounds out, so that warps diverge.
constexpr unsigned counters = 3, blocks = 64, threads = 256, rounds = 40;
__global__ void count(std::uint32_t* counter, std::uint32_t* seen, unsigned most) {
    warp lanes;
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned round = 0; round != rounds; ++round) {
        if (((id * 2654435761U >> 13) + round) % 2 != 0) continue;
        const unsigned which = (id + round) % counters;
        const std::uint32_t n = aggregated_fetch_add<thread_scope::device>(lanes, counter[which]);
        if (n < most) scoped<thread_scope::device>(seen[which * most + n]).fetch_add(1U, ordered::relaxed);
    }
}

int main() {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        std::puts("skipped: no GPU");
        return 77;
    }
    static results here, there;
    ask_types(here);
    results* r = nullptr;
    std::uint64_t* memory = nullptr;
    if (cudaMalloc(&r, sizeof there) != cudaSuccess || cudaMalloc(&memory, 16 * 8) != cudaSuccess) return 1;
    ask_there<<<1, 1>>>(r, memory);
    if (cudaMemcpy(&there, r, sizeof there, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    int wrong = 0;
    for (int type = 0; type != 4; ++type)
        for (int i = 0; i != all_answers; ++i)
            if (here.of[type][i] != there.of[type][i] && ++wrong < 10)
                std::printf("type %d, answer %d: %llx here, %llx there\n", type, i,
                            static_cast<unsigned long long>(here.of[type][i]),
                            static_cast<unsigned long long>(there.of[type][i]));

    constexpr unsigned most = blocks * threads * rounds;
    std::uint32_t *counter = nullptr, *seen = nullptr;
    if (cudaMalloc(&counter, counters * 4) != cudaSuccess || cudaMalloc(&seen, counters * most * 4) != cudaSuccess)
        return 1;
    cudaMemset(counter, 0, counters * 4);
    cudaMemset(seen, 0, counters * most * 4);
    count<<<blocks, threads>>>(counter, seen, most);
    std::uint32_t counted[counters];
    std::vector<std::uint32_t> times(counters * most);
    if (cudaMemcpy(counted, counter, sizeof counted, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    if (cudaMemcpy(times.data(), seen, times.size() * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    std::uint64_t expected = 0, all = 0;
    for (unsigned id = 0; id != blocks * threads; ++id)
        for (unsigned round = 0; round != rounds; ++round) expected += ((id * 2654435761U >> 13) + round) % 2 == 0;
    for (unsigned which = 0; which != counters; ++which) {
        all += counted[which];
        for (unsigned n = 0; n != most; ++n) // each number below the counter once, no other
            if (times[which * most + n] != (n < counted[which]) && ++wrong < 20)
                std::printf("counter %u: %u was given %u times of %u\n", which, n, times[which * most + n],
                            counted[which]);
    }
    if (all != expected) ++wrong;
    std::printf("%d wrong; %llu numbers of %llu\n", wrong, static_cast<unsigned long long>(all),
                static_cast<unsigned long long>(expected));
    cudaFree(r);
    cudaFree(memory);
    cudaFree(counter);
    cudaFree(seen);
    return wrong != 0;
}
