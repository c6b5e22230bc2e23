// A thrust::mr::memory_resource over device memory (adapt/device_memory.hpp), for thrust::device_vector and what else
// takes thrust::mr::allocator:
//
//   adapt::thrust_mr mr{memory};
//   thrust::device_vector<int, thrust::mr::allocator<int, decltype(mr)>> v(100, 7, &mr);
//
// Thrust's resources know no streams: a block is for any stream, at once, and is given back when nobody uses it any
// more. The memory must outlive the resource, and the resource its vectors and pools. Failure: out_of_memory, a
// std::bad_alloc.
// Cost: a virtual call beside the memory's own; a wait of its stream where it has no pair without one. Threads: those
// of the memory. Trap: Thrust's own comparison compares a resource with itself (CCCL 3.0 to 3.5), and a vector assigned
// from one of another memory would then give its old block to the wrong one; the comparison here is the better match
// for adaptors.
#pragma once

#include <allot/adapt/device_memory.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>

#include <cstddef>
#include <thrust/device_ptr.h>
#include <thrust/mr/memory_resource.h>

namespace allot::inline ALLOT_ABI {
namespace adapt {

/// The pointer is what vectors of this resource use: thrust::device_ptr<void>, as device_vector has it, or a system's
/// own.
template <device_memory Memory, class Pointer = thrust::device_ptr<void>>
class thrust_mr final : public thrust::mr::memory_resource<Pointer> {
  public:
    using stream_type = typename Memory::stream_type;

    /// The stream serves every call, where the memory has no pair without one.
    explicit thrust_mr(Memory& memory, stream_type without_stream = detail::stream_for_all<Memory>()) noexcept
        : memory_{&memory}, without_stream_{without_stream} {}
    Memory& memory() const noexcept { return *memory_; }

    Pointer do_allocate(std::size_t bytes, std::size_t align) override {
        void* const p = detail::take_for_all(*memory_, bytes, align, without_stream_);
        if (ALLOT_UNLIKELY(p == nullptr && bytes != 0))
            raise(
                out_of_memory("allot: out of memory", "the device memory under thrust::mr has none for this request"));
        return Pointer{p};
    }
    void do_deallocate(Pointer p, std::size_t bytes, std::size_t) override {
        detail::give_from_all(*memory_, thrust::raw_pointer_cast(p), bytes, without_stream_);
    }

    /// Of one memory: what one gave, the other takes back.
    ALLOT_HOST_DEVICE friend bool operator==(const thrust_mr& a, const thrust_mr& b) noexcept {
        return a.memory_ == b.memory_;
    }

  private:
    Memory* memory_;
    stream_type without_stream_;
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
