#include "q1_kernel.hpp"

#include <cuda_runtime_api.h>

namespace tpch::q1 {

// A thread for each row. Sums of whole numbers are the same in any order.
__global__ void add_up(lines l, unsigned long long* sums) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= l.rows || !l.wanted(i)) return;
    const addends a = l[i];
    for (std::size_t k = 0; k != sums_of_group; ++k)
        atomicAdd(sums + a.group * sums_of_group + k, static_cast<unsigned long long>(a.values[k]));
}

const char* launch_add_up(const lines& l, std::int64_t* sums, CUstream_st* stream) {
    constexpr unsigned threads = 256;
    const auto blocks = static_cast<unsigned>((l.rows + threads - 1) / threads);
    if (blocks != 0) add_up<<<blocks, threads, 0, stream>>>(l, reinterpret_cast<unsigned long long*>(sums));
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

} // namespace tpch::q1
