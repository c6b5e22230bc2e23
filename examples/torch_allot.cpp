// A shared library that PyTorch loads for the memory of its tensors (docs/torch.md).
#include <allot/adapt/torch_pluggable.hpp>
#include <allot/device/cuda.hpp>
#include <allot/device_allocator.hpp>

#include <memory>
#include <sys/types.h>

using namespace allot::literals;

namespace {

struct torch_memory
    : allot::policies<allot::page::on_device<allot::device::cuda>, allot::fit::best, allot::order::stream> {};

auto& memory() { // never destroyed: PyTorch frees tensors while the process ends
    static auto& all = *new allot::adapt::torch_pluggable<torch_memory>{[](allot::device_id gpu) {
        return std::make_unique<allot::device_allocator<torch_memory>>(gpu, allot::limit{20_GiB}, allot::name{"torch"});
    }};
    return all;
}

} // namespace

extern "C" void* torch_allocate(ssize_t bytes, int device, cudaStream_t stream) {
    return memory().allocate(bytes, device, stream);
}
extern "C" void torch_deallocate(void* p, ssize_t bytes, int device, cudaStream_t stream) {
    memory().deallocate(p, bytes, device, stream);
}
