// A resource of CCCL's cuda::mr over device memory (adapt/device_memory.hpp), in both generations of its concepts at
// once:
//
//   CCCL before 3.1    resource, async_resource          allocate(bytes, align), allocate_async(bytes, align, stream)
//   CCCL 3.1 and on    synchronous_resource, resource    allocate_sync(bytes, align), allocate(stream, bytes, align)
//
// Code for either compiles with either. cuda_mr<Memory> is device_accessible; other properties are named:
// cuda_mr<Memory, cuda::mr::host_accessible, ...>. A value of two pointers. The memory must outlive it, its copies, and
// what they gave; a resource_ref of CCCL points at the adaptor itself, which must outlive it too. Failure:
// out_of_memory, a std::bad_alloc. 0 bytes are null. Cost: nothing beside the memory's. Threads: those of the memory.
// Needs CUDA's headers, and CCCL's (in CUDA 13: include/cccl); no library of CUDA is linked for it.
#pragma once

// CCCL 3.0 declares cuda::mr only under this name: include this header before CCCL's own, or define the name for all.
#undef LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE

#include <allot/adapt/device_memory.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <cuda/memory_resource>
#include <cuda/stream_ref>
#include <cuda_runtime_api.h>

namespace allot::inline ALLOT_ABI {
namespace adapt {

template <device_memory Memory, class... Properties>
    requires std::convertible_to<cudaStream_t, typename Memory::stream_type>
class cuda_mr {
  public:
    using stream_type = typename Memory::stream_type;
    static constexpr std::size_t default_align = ::cuda::mr::default_cuda_malloc_alignment;

    /// The stream serves calls without one, where the memory has none of its own for them.
    explicit cuda_mr(Memory& memory, stream_type without_stream = detail::stream_for_all<Memory>()) noexcept
        : memory_{&memory}, without_stream_{without_stream} {}
    Memory& memory() const noexcept { return *memory_; }

    // --- for any stream, at once ---------------------------------------------------------------------------------
    void* allocate_sync(std::size_t bytes, std::size_t align = default_align) {
        return met(detail::take_for_all(*memory_, bytes, align, without_stream_), bytes);
    }
    void deallocate_sync(void* p, std::size_t bytes, std::size_t = default_align) noexcept {
        detail::give_from_all(*memory_, p, bytes, without_stream_);
    }
    void* allocate(std::size_t bytes, std::size_t align = default_align) { return allocate_sync(bytes, align); }
    void deallocate(void* p, std::size_t bytes, std::size_t align = default_align) noexcept {
        deallocate_sync(p, bytes, align);
    }

    // --- for work of a stream ------------------------------------------------------------------------------------
    void* allocate(::cuda::stream_ref stream, std::size_t bytes, std::size_t align = default_align) {
        return met(detail::take_from(*memory_, bytes, align, stream.get()), bytes);
    }
    void deallocate(::cuda::stream_ref stream, void* p, std::size_t bytes, std::size_t = default_align) noexcept {
        detail::give_to(*memory_, p, bytes, stream.get());
    }
    void* allocate_async(std::size_t bytes, std::size_t align, ::cuda::stream_ref stream) {
        return allocate(stream, bytes, align);
    }
    void* allocate_async(std::size_t bytes, ::cuda::stream_ref stream) { return allocate(stream, bytes); }
    void deallocate_async(void* p, std::size_t bytes, std::size_t align, ::cuda::stream_ref stream) noexcept {
        deallocate(stream, p, bytes, align);
    }
    void deallocate_async(void* p, std::size_t bytes, ::cuda::stream_ref stream) noexcept {
        deallocate(stream, p, bytes);
    }

    /// Of one memory: what one gave, the other takes back.
    friend bool operator==(const cuda_mr& a, const cuda_mr& b) noexcept { return a.memory_ == b.memory_; }

    template <class P>
        requires((sizeof...(Properties) == 0 && std::same_as<P, ::cuda::mr::device_accessible>) ||
                 (std::same_as<P, Properties> || ...))
    friend constexpr void get_property(const cuda_mr&, P) noexcept {}

  private:
    static void* met(void* p, std::size_t bytes) {
        if (ALLOT_UNLIKELY(p == nullptr && bytes != 0))
            raise(out_of_memory("allot: out of memory", "the device memory under cuda::mr has none for this request"));
        return p;
    }

    Memory* memory_;
    stream_type without_stream_;
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
