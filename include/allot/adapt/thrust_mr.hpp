// A thrust::mr::memory_resource over device memory (adapt/device_memory.hpp), for thrust::device_vector and all that
// takes a thrust::mr::allocator:
//
//   adapt::thrust_mr mr{memory};
//   thrust::device_vector<int, thrust::mr::allocator<int, decltype(mr)>> v(100, 7, &mr);
//
// Thrust's resources know no streams: memory is for any stream at once, and is freed when no stream uses it any more.
// The memory must outlive the resource, and the resource its vectors and pools. Failure: out_of_memory, a
// std::bad_alloc. On a thread of a task a request of a device_allocator waits as its allocate() does, and may throw a
// verdict_error (core/retry_error.hpp).
// Cost: one virtual call, and the memory's; a stream synchronization where the memory needs a stream.
// Threads: those of the memory.
#pragma once

#include <allot/adapt/device_memory.hpp>
#include <allot/adapt/raise_refused.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>

#include <cstddef>
#include <thrust/device_ptr.h>
#include <thrust/mr/memory_resource.h>

namespace allot::inline ALLOT_ABI {
namespace adapt {

/// A resource that refers to a Memory. `Pointer` is the pointer of its vectors: thrust::device_ptr<void>, as in
/// device_vector, or that of another Thrust system.
template <device_memory Memory, class Pointer = thrust::device_ptr<void>>
class thrust_mr final : public thrust::mr::memory_resource<Pointer> {
  public:
    using stream_type = typename Memory::stream_type;

    /// `fallback_stream` serves every call, where the memory has no functions without a stream.
    explicit thrust_mr(Memory& memory, stream_type fallback_stream = detail::default_stream<Memory>()) noexcept
        : memory_{&memory}, fallback_stream_{fallback_stream} {}
    Memory& memory() const noexcept { return *memory_; }

    Pointer do_allocate(std::size_t bytes, std::size_t align) override {
        charge_status why;
        void* const p = detail::allocate_any_stream(*memory_, bytes, align, fallback_stream_, why);
        if (ALLOT_UNLIKELY(p == nullptr && bytes != 0))
            allot::detail::raise_refused("the memory behind thrust::mr", bytes, why);
        return Pointer{p};
    }
    void do_deallocate(Pointer p, std::size_t bytes, std::size_t) override {
        detail::deallocate_any_stream(*memory_, thrust::raw_pointer_cast(p), bytes, fallback_stream_);
    }

    /// True when both refer to one memory: either may deallocate what the other allocated. Overload resolution prefers
    /// it to Thrust's own, which compares a resource with itself (CCCL 3.0 to 3.5): a vector assigned from another
    /// memory's vector would free its old memory to the wrong resource.
    ALLOT_HOST_DEVICE friend bool operator==(const thrust_mr& a, const thrust_mr& b) noexcept {
        return a.memory_ == b.memory_;
    }

  private:
    Memory* memory_;
    stream_type fallback_stream_;
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
