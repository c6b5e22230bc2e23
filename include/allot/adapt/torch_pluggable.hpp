// The memory of PyTorch's GPU tensors from device_allocators: the two functions of
// torch.cuda.memory.CUDAPluggableAllocator.
//
//     struct torch_memory : allot::policies<allot::page::on_device<allot::device::cuda>, allot::fit::best,
//                                           allot::order::stream> {};
//     auto& memory = *new allot::adapt::torch_pluggable<torch_memory>{[](allot::device_id d) {
//         return std::make_unique<allot::device_allocator<torch_memory>>(d, allot::limit{8_GiB}); // for each device
//     }};
//     extern "C" void* torch_allocate(ssize_t bytes, int device, cudaStream_t stream) {
//         return memory.allocate(bytes, device, stream);
//     }
//     extern "C" void torch_deallocate(void* p, ssize_t bytes, int device, cudaStream_t stream) {
//         memory.deallocate(p, bytes, device, stream);
//     }
//
// A shared library of these lines is loaded by name (docs/torch.md). It is not to destroy the object: PyTorch frees
// tensors while the process ends.
//
// PyTorch uses what the first function returns without a test for null, and catches exceptions of C++ where Python
// called it. So a request that fails throws: Python sees a RuntimeError or MemoryError with the text. The second
// function is called in destructors, and throws nothing.
// Invariant: a device has at most one allocator, made at its first request.
// Cost: a request is that of the device_allocator, and one atomic read. Threads: any.
// Source: PyTorch's CUDAPluggableAllocator, 2022.
#pragma once

#include <allot/adapt/device_memory.hpp>
#include <allot/adapt/raise_refused.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/device/id.hpp>
#include <allot/device_allocator/device_allocator.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace adapt {

/// The device_allocators of a set, one for each device.
template <class Set> class torch_pluggable {
  public:
    using memory_type = device_allocator<Set>;
    using stream_type = typename memory_type::stream_type;
    static constexpr int max_devices = 64;

    /// `make(device_id)` returns a std::unique_ptr to the allocator of a device, with the limit or account that the
    /// caller wants. It is called once for each device that is used, by one thread at a time.
    template <class Make> explicit torch_pluggable(Make make) : make_(std::move(make)) {}
    torch_pluggable(const torch_pluggable&) = delete;
    torch_pluggable& operator=(const torch_pluggable&) = delete;

    /// Allocates for work of the stream from now on. 0 bytes: null.
    /// Throws: out_of_memory, a std::bad_alloc, also for a device that does not exist and negative bytes; what make()
    /// throws.
    void* allocate(std::ptrdiff_t bytes, int device, stream_type stream) {
        if (ALLOT_UNLIKELY(bytes < 0)) refuse(0, "a negative number of bytes");
        const auto size = static_cast<std::size_t>(bytes);
        charge_status why;
        void* const p = detail::allocate_on(memory(device, size), size, memory_type::unit, stream, why);
        if (ALLOT_UNLIKELY(p == nullptr && size != 0)) raise_refused("PyTorch's device memory", size, why);
        return p;
    }
    /// Frees at this point of the stream: its work until now may still use the memory. Null is ignored; a device that
    /// never allocated is misuse.
    void deallocate(void* p, std::ptrdiff_t, int device, stream_type stream) noexcept {
        if (p == nullptr) return;
        memory_type* const from = used(device);
        if (ALLOT_UNLIKELY(from == nullptr)) return report_misuse({.kind = misuse::foreign_pointer, .address = p});
        from->deallocate(p, stream);
    }
    /// The allocator of a device, for its stats and report; null: none, since nothing was allocated there.
    memory_type* used(int device) const noexcept {
        if (device < 0 || device >= max_devices) return nullptr;
        return all_[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
    }

    ~torch_pluggable() {
        for (auto& one : all_) delete one.load(std::memory_order_relaxed);
    }

  private:
    [[noreturn]] ALLOT_COLD static void refuse(std::size_t bytes, const char* what) {
        raise_refused("PyTorch's device memory", bytes,
                      {.outcome = charge_outcome::misused, .requested = bytes, .name = what});
    }
    memory_type& memory(int device, std::size_t bytes) {
        if (memory_type* const there = used(device); ALLOT_LIKELY(there != nullptr)) return *there;
        return make(device, bytes);
    }
    ALLOT_COLD memory_type& make(int device, std::size_t bytes) {
        if (device < 0 || device >= max_devices) refuse(bytes, "a device that does not exist");
        const std::lock_guard hold{lock_};
        if (memory_type* const there = used(device)) return *there;
        std::unique_ptr<memory_type> made = make_(device_id{device});
        const auto devices = made->api().device_count();
        if (!devices) refuse(bytes, "no device is found");
        if (device >= *devices) refuse(bytes, "a device that does not exist");
        all_[static_cast<std::size_t>(device)].store(made.get(), std::memory_order_release);
        return *made.release();
    }

    std::function<std::unique_ptr<memory_type>(device_id)> make_;
    std::mutex lock_;
    std::array<std::atomic<memory_type*>, max_devices> all_{};
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
