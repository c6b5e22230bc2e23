// The kernel of the tpch example's query 1: its sums on a GPU are those of the host.
#include "../../examples/tpch/device/q1_kernel.cu"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace tpch::q1;

// A column of n values below `most`: on the device, and kept on the host.
template <class T> struct column {
    std::vector<T> here;
    T* there = nullptr;

    column(std::size_t n, std::uint64_t most, std::uint64_t seed) : here(n) {
        for (T& v : here)
            v = static_cast<T>(((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33) % most);
        if (cudaMalloc(&there, n * sizeof(T)) != cudaSuccess) return;
        cudaMemcpy(there, here.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    }
    ~column() { cudaFree(there); }
};

int main() {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        std::puts("skipped: no GPU");
        return 77;
    }
    int wrong = 0;
    for (const std::size_t n : {0, 1, 256, 1000, 131'072}) {
        const column<std::int64_t> quantities{n, 5000, 1}, prices{n, 10'000'000, 2}, discounts{n, 11, 3},
            taxes{n, 9, 4};
        const column<char> flags{n, 128, 5}, statuses{n, 128, 6};
        const column<std::int32_t> days{n, 20'000, 7};
        const lines on_host{quantities.here.data(),
                            prices.here.data(),
                            discounts.here.data(),
                            taxes.here.data(),
                            flags.here.data(),
                            statuses.here.data(),
                            days.here.data(),
                            n,
                            10'000};
        const lines on_device{quantities.there,
                              prices.there,
                              discounts.there,
                              taxes.there,
                              flags.there,
                              statuses.there,
                              days.there,
                              n,
                              10'000};
        std::vector<sums> right(groups, sums{1, 2, 3, 4, 5, 6}), got = right; // it adds to what is there
        for (std::size_t i = 0; i != n; ++i)
            if (on_host.wanted(i)) right[on_host.group(i)] += on_host[i];
        sums* there = nullptr;
        const std::size_t bytes = groups * sizeof(sums);
        if (cudaMalloc(&there, bytes) != cudaSuccess) return 1;
        cudaMemcpy(there, got.data(), bytes, cudaMemcpyHostToDevice);
        if (const char* const error = launch_add_up(on_device, there, nullptr)) return std::puts(error), 1;
        if (cudaMemcpy(got.data(), there, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
        cudaFree(there);
        if (std::memcmp(got.data(), right.data(), bytes) != 0) std::printf("%zu rows: wrong sums\n", n), ++wrong;
    }
    return wrong;
}
