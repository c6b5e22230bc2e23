// Allocators for the traces that need CUDA: pools with other settings, CUB's cache, Thrust's pools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cub/util_allocator.cuh>
#include <cuda_runtime_api.h>
#include <memory>
#include <new>
#include <thrust/mr/disjoint_pool.h>
#include <thrust/mr/disjoint_sync_pool.h>
#include <thrust/mr/new.h>

namespace gpu {

inline cudaMemPool_t default_pool() {
    cudaMemPool_t pool = nullptr;
    (void)cudaDeviceGetDefaultMemPool(&pool, 0);
    return pool;
}
inline void set_threshold(cudaMemPool_t pool, std::uint64_t bytes) {
    (void)cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes);
}

/// The default pool, told to keep all that it has while this lives.
class keeping_pool {
  public:
    keeping_pool() { set_threshold(default_pool(), UINT64_MAX); }
    keeping_pool(const keeping_pool&) = delete;
    keeping_pool& operator=(const keeping_pool&) = delete;
    ~keeping_pool() {
        set_threshold(default_pool(), 0);
        (void)cudaMemPoolTrimTo(default_pool(), 0);
    }
    void* try_allocate(std::size_t bytes, std::size_t, cudaStream_t s) {
        void* p = nullptr;
        if (cudaMallocAsync(&p, bytes, s) == cudaSuccess) return p;
        (void)cudaGetLastError();
        return nullptr;
    }
    void deallocate(void* p, std::size_t, cudaStream_t s) { (void)cudaFreeAsync(p, s); }
};

/// A pool of our own, keeping all that it has.
class own_pool {
  public:
    own_pool() {
        cudaMemPoolProps what{};
        what.allocType = cudaMemAllocationTypePinned;
        what.location.type = cudaMemLocationTypeDevice;
        (void)cudaMemPoolCreate(&pool_, &what);
        set_threshold(pool_, UINT64_MAX);
    }
    own_pool(const own_pool&) = delete;
    own_pool& operator=(const own_pool&) = delete;
    ~own_pool() { (void)cudaMemPoolDestroy(pool_); }
    void* try_allocate(std::size_t bytes, std::size_t, cudaStream_t s) {
        void* p = nullptr;
        if (cudaMallocFromPoolAsync(&p, bytes, pool_, s) == cudaSuccess) return p;
        (void)cudaGetLastError();
        return nullptr;
    }
    void deallocate(void* p, std::size_t, cudaStream_t s) { (void)cudaFreeAsync(p, s); }

  private:
    cudaMemPool_t pool_ = nullptr;
};

/// Bins of powers of 2 up to 128 MiB, so that it caches all of the traces' sizes; CUB means to retire it.
class cub_cache {
  public:
    cub_cache() : cache_{std::make_unique<cub::CachingDeviceAllocator>(2, 9, 27)} {}
    void* try_allocate(std::size_t bytes, std::size_t, cudaStream_t s) {
        void* p = nullptr;
        if (cache_->DeviceAllocate(&p, bytes, s) == cudaSuccess) return p;
        (void)cudaGetLastError();
        return nullptr;
    }
    void deallocate(void* p, std::size_t, cudaStream_t) { (void)cache_->DeviceFree(p); }

  private:
    std::unique_ptr<cub::CachingDeviceAllocator> cache_;
};

/// cudaMalloc for Thrust's pools: plain pointers, so that no Thrust kernel is compiled.
class thrust_memory final : public thrust::mr::memory_resource<void*> {
  public:
    void* do_allocate(std::size_t bytes, std::size_t) override {
        void* p = nullptr;
        if (cudaMalloc(&p, bytes) == cudaSuccess) return p;
        (void)cudaGetLastError();
        throw std::bad_alloc{};
    }
    void do_deallocate(void* p, std::size_t, std::size_t) override { (void)cudaFree(p); }
};

/// Thrust's pools know no streams: whoever frees must have waited, which is left out here, as only the host is timed.
/// Their records lie in host memory (the other kind of pool would keep them in what it gives out).
template <template <class, class> class Pool> class thrust_pool {
  public:
    void* try_allocate(std::size_t bytes, std::size_t align, cudaStream_t) {
        try {
            return pool_->do_allocate(bytes, align);
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }
    void deallocate(void* p, std::size_t bytes, cudaStream_t) { pool_->do_deallocate(p, bytes, 256); }

  private:
    using pool = Pool<thrust_memory, thrust::mr::new_delete_resource>;
    static thrust::mr::pool_options options() {
        auto o = pool::get_default_options();
        o.alignment = 256; // what the traces ask for, and cudaMalloc gives
        return o;
    }
    std::unique_ptr<thrust_memory> memory_ = std::make_unique<thrust_memory>();
    std::unique_ptr<pool> pool_ = std::make_unique<pool>(
        memory_.get(), thrust::mr::get_global_resource<thrust::mr::new_delete_resource>(), options());
};

} // namespace gpu
