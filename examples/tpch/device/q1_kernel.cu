#include "q1_kernel.hpp"

#include <cuda_runtime_api.h>

namespace tpch::q1 {

__device__ void add(std::int64_t& to, std::int64_t more) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(more));
}

// A thread for each row. Sums of whole numbers are the same in any order.
__global__ void add_up(lines l, sums* to) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= l.rows || !l.wanted(i)) return;
    sums& all = to[l.group(i)];
    const sums one = l[i];
    add(all.quantity, one.quantity), add(all.price, one.price), add(all.discounted, one.discounted);
    add(all.charge, one.charge), add(all.discount, one.discount), add(all.count, one.count);
}

const char* launch_add_up(const lines& l, sums* to, CUstream_st* stream) {
    constexpr unsigned threads = 256;
    const auto blocks = static_cast<unsigned>((l.rows + threads - 1) / threads);
    if (blocks != 0) add_up<<<blocks, threads, 0, stream>>>(l, to);
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

} // namespace tpch::q1
