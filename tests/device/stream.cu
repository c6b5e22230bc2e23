// The device allocator as nvcc compiles it, with a kernel that uses a block; without a GPU it is compiled only.
#include <allot/device/cuda.hpp>
#include <allot/device_allocator.hpp>

#include <cstdio>

using namespace allot::literals;

struct task_memory
    : allot::policies<allot::page::on_device<allot::device::cuda>, allot::fit::best, allot::order::stream> {};

__global__ void fill(int* block, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) block[i] = i;
}

int main() {
    const allot::device::cuda api;
    const auto n = api.device_count();
    if (!n || *n == 0) return std::puts("no device: compiled, not run"), 77;
    allot::device_allocator<task_memory> gpu{allot::device_id{0}, allot::limit{4_GiB}};
    const auto stream = *api.create_stream({0}, allot::device::stream_kind::non_blocking);
    constexpr int count = 1 << 20;
    int last = 0;
    for (int round = 0; round != 8; ++round) {
        auto* const block = static_cast<int*>(gpu.allocate(count * sizeof(int), stream));
        fill<<<count / 256, 256, 0, stream>>>(block, count);
        if (!api.copy_async(&last, block + count - 1, sizeof last, stream) || !api.synchronize(stream) ||
            last != count - 1)
            return 1;
        gpu.deallocate(block, stream);
    }
    gpu.leave(stream);
    return api.destroy_stream(stream) ? 0 : 1;
}
