// A CCCL cuda::mr resource over device memory (adapt/device_memory.hpp), for both generations of its concepts at once:
//
//   CCCL before 3.1    resource, async_resource          allocate(bytes, align), allocate_async(bytes, align, stream)
//   CCCL 3.1 and later synchronous_resource, resource    allocate_sync(bytes, align), allocate(stream, bytes, align)
//
// cuda_mr<Memory> is device_accessible; name other properties: cuda_mr<Memory, cuda::mr::host_accessible, ...>.
// The memory must outlive the resource, its copies and all that they allocated. A resource_ref of CCCL refers to the
// resource itself, which must outlive the reference.
// Failure: out_of_memory, a std::bad_alloc. On a thread of a task a request of a device_allocator waits as its
// allocate() does, and may throw a verdict_error (core/retry_error.hpp).
// Cost: two words, and the memory's own. Threads: those of the memory. Needs the headers of CUDA and CCCL (in CUDA 13:
// include/cccl), no CUDA library.
#pragma once

// CCCL 3.0 declares cuda::mr only with this macro: include this header before CCCL's, or define the macro everywhere.
#undef LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE

#include <allot/adapt/device_memory.hpp>
#include <allot/adapt/raise_refused.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <cuda/memory_resource>
#include <cuda/stream_ref>
#include <cuda_runtime_api.h>

namespace allot::inline ALLOT_ABI {
namespace adapt {

/// A resource that refers to a Memory. Calls with 0 bytes return null.
template <device_memory Memory, class... Properties>
    requires std::convertible_to<cudaStream_t, typename Memory::stream_type>
class cuda_mr {
  public:
    using stream_type = typename Memory::stream_type;
    static constexpr std::size_t default_align = ::cuda::mr::default_cuda_malloc_alignment;

    /// `fallback_stream` serves the calls without a stream, where the memory has no functions for them.
    explicit cuda_mr(Memory& memory, stream_type fallback_stream = detail::default_stream<Memory>()) noexcept
        : memory_{&memory}, fallback_stream_{fallback_stream} {}
    Memory& memory() const noexcept { return *memory_; }

    // --- without a stream ----------------------------------------------------------------------------------------
    /// Allocates memory that any stream may use at once.
    /// Throws: out_of_memory, a std::bad_alloc; what allocate() of the memory throws, if it has one.
    void* allocate_sync(std::size_t bytes, std::size_t align = default_align) {
        charge_status why;
        return or_raise(detail::allocate_any_stream(*memory_, bytes, align, fallback_stream_, why), bytes, why);
    }
    /// Requires: no stream uses the memory any more.
    void deallocate_sync(void* p, std::size_t bytes, std::size_t = default_align) noexcept {
        detail::deallocate_any_stream(*memory_, p, bytes, fallback_stream_);
    }
    void* allocate(std::size_t bytes, std::size_t align = default_align) { return allocate_sync(bytes, align); }
    void deallocate(void* p, std::size_t bytes, std::size_t align = default_align) noexcept {
        deallocate_sync(p, bytes, align);
    }

    // --- in the order of a stream --------------------------------------------------------------------------------
    /// Allocates memory for later work of `stream`.
    /// Throws: out_of_memory, a std::bad_alloc; what allocate() of the memory throws, if it has one.
    void* allocate(::cuda::stream_ref stream, std::size_t bytes, std::size_t align = default_align) {
        charge_status why;
        return or_raise(detail::allocate_on(*memory_, bytes, align, stream.get(), why), bytes, why);
    }
    /// Frees at this point of `stream`: its work until now may still use the memory.
    void deallocate(::cuda::stream_ref stream, void* p, std::size_t bytes, std::size_t = default_align) noexcept {
        detail::deallocate_on(*memory_, p, bytes, stream.get());
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

    /// True when both refer to one memory: either may deallocate what the other allocated.
    friend bool operator==(const cuda_mr& a, const cuda_mr& b) noexcept { return a.memory_ == b.memory_; }

    template <class P>
        requires((sizeof...(Properties) == 0 && std::same_as<P, ::cuda::mr::device_accessible>) ||
                 (std::same_as<P, Properties> || ...))
    friend constexpr void get_property(const cuda_mr&, P) noexcept {}

  private:
    static void* or_raise(void* p, std::size_t bytes, const charge_status& why) {
        if (ALLOT_UNLIKELY(p == nullptr && bytes != 0))
            allot::detail::raise_refused("the memory behind cuda::mr", bytes, why);
        return p;
    }

    Memory* memory_;
    stream_type fallback_stream_;
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
