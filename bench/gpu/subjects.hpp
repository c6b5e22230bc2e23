// Allocators for the traces over any model of the device seam: the memory calls of the api itself.
#pragma once

#include <allot/device/api.hpp>

#include <cstddef>

namespace gpu {

/// cudaMalloc and cudaFree: no stream, and a free waits for the device.
template <class Api> struct plain {
    Api api;
    using stream = typename Api::stream_type;
    void* try_allocate(std::size_t bytes, std::size_t, stream) { return api.allocate({0}, bytes).value_or(nullptr); }
    void deallocate(void* p, std::size_t, stream) { (void)api.deallocate({0}, p); }
};

/// cudaMallocAsync from the device's pool as it is: threshold 0, so a synchronize gives memory back.
template <class Api> struct pooled {
    Api api;
    using stream = typename Api::stream_type;
    void* try_allocate(std::size_t bytes, std::size_t, stream s) {
        return api.allocate_async(bytes, s).value_or(nullptr);
    }
    void deallocate(void* p, std::size_t, stream s) { (void)api.deallocate_async(p, s); }
};

} // namespace gpu
