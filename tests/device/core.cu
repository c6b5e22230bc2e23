// What core promises to device code: bits, units, size classes and empty policies give on a GPU what they give here.
#include <allot/core/bits.hpp>
#include <allot/core/category/count.hpp>
#include <allot/core/category/size.hpp>
#include <allot/core/size_class.hpp>
#include <allot/core/units.hpp>

#include <cstddef>
#include <cstdio>

using namespace allot::literals;

struct numbers {
    std::size_t of_fine;
    std::size_t of_roxie;
    std::size_t rest;
};

struct with_policies {
    ALLOT_NO_UNIQUE_ADDRESS allot::size::packed size;
    ALLOT_NO_UNIQUE_ADDRESS allot::count::none count;
    int state;
};

// Made on either side from the page alone, and asked for every size.
__host__ __device__ numbers compute(std::size_t usable) {
    static_assert(sizeof(with_policies) == sizeof(int));
    const allot::detail::size_classes<allot::size::list::fine> fine{usable};
    const allot::detail::size_classes<allot::size::list::roxie> roxie{usable};
    numbers sums{0, 0, 0};
    for (std::size_t n = 1; n <= usable; n += n < 4096 ? 1 : 977) {
        ALLOT_ASSERT(fine.slot_bytes(fine.index_for(n)) >= n, "a class holds what it is asked for");
        sums.of_fine += fine.slot_bytes(fine.index_for(n)) * (n % 13 + 1);
        sums.of_roxie += roxie.index_for(n) * (n % 7 + 1);
        std::size_t product = 0;
        sums.rest += allot::detail::align_up(n, 64) + allot::detail::log2_floor(n) + allot::detail::log2_ceil(n) +
                     allot::detail::ceil_div(n, 3);
        if (allot::detail::checked_mul(n, 1_TiB, product)) sums.rest += product >> 40;
    }
    return sums;
}

__global__ void on_device(numbers* results) {
    results[threadIdx.x] = compute((std::size_t{64} << 10 << threadIdx.x) - 128);
}

int main() {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        std::puts("skipped: no GPU");
        return 77;
    }
    constexpr int pages = 6; // 64 KiB to 2 MiB
    numbers results[pages]{};
    numbers* there = nullptr;
    if (cudaMalloc(&there, sizeof results) != cudaSuccess) return 1;
    on_device<<<1, pages>>>(there);
    if (cudaMemcpy(results, there, sizeof results, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    cudaFree(there);
    int wrong = 0;
    for (int i = 0; i != pages; ++i) {
        const numbers here = compute((std::size_t{64} << 10 << i) - 128);
        wrong +=
            here.of_fine != results[i].of_fine || here.of_roxie != results[i].of_roxie || here.rest != results[i].rest;
    }
    std::printf("%d of %d pages agree\n", pages - wrong, pages);
    return wrong;
}
