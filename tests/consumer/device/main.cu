// Core headers on both sides: a kernel computes what the host computes. Skipped where there is no GPU to run it.
#include <allot/core/bits.hpp>

#include <cstddef>
#include <cstdio>

static_assert(__cplusplus >= 202002L, "allot::cuda asks nvcc for C++20");

__global__ void round_up(std::size_t* numbers, std::size_t align) {
    numbers[threadIdx.x] = allot::detail::align_up(numbers[threadIdx.x], align);
}

int main() {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        std::puts("skipped: no GPU");
        return 0;
    }
    constexpr std::size_t count = 32;
    std::size_t numbers[count];
    for (std::size_t i = 0; i < count; ++i) numbers[i] = i * 37;
    std::size_t* there = nullptr;
    cudaMalloc(&there, sizeof numbers);
    cudaMemcpy(there, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    round_up<<<1, count>>>(there, 64);
    cudaMemcpy(numbers, there, sizeof numbers, cudaMemcpyDeviceToHost);
    cudaFree(there);
    for (std::size_t i = 0; i < count; ++i)
        if (numbers[i] != allot::detail::align_up(i * 37, 64)) return 1;
    std::puts("the device agrees");
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
