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
// PyTorch frees on the stream of the allocation, while any device may be current. A default stream is one of the
// current device, so the block's device is current for the call.
// Invariant: a device has at most one allocator, made at its first request.
// Cost: a request is that of the device_allocator, and one atomic read; on a default stream one to three api calls more.
// Threads: any.
// Source: PyTorch's CUDAPluggableAllocator, 2022.
#pragma once

#include <allot/adapt/device_memory.hpp>
#include <allot/adapt/raise_refused.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/raise_refused.hpp>
#include <allot/core/text.hpp>
#include <allot/device/current_device.hpp>
#include <allot/device/id.hpp>
#include <allot/device_allocator/device_allocator.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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
    /// caller wants. It is called once for each device that is used, by one thread at a time. Null is refused.
    template <class Make> explicit torch_pluggable(Make make) : make_(std::move(make)) {}
    torch_pluggable(const torch_pluggable&) = delete;
    torch_pluggable& operator=(const torch_pluggable&) = delete;

    /// Allocates for work of the stream from now on. A default stream is that of this device. 0 bytes: null.
    /// Throws: out_of_memory, a std::bad_alloc, also for a device that does not exist and negative bytes; what make()
    /// throws.
    void* allocate(std::ptrdiff_t bytes, int device, stream_type stream) {
        if (ALLOT_UNLIKELY(bytes < 0)) refuse(bytes, "a negative number of bytes");
        memory_type& from = memory(device, bytes);
        std::optional<current_device> here;
        if (ALLOT_UNLIKELY(!make_current(here, from, stream))) refuse(bytes, "the device cannot be made current");
        const auto size = static_cast<std::size_t>(bytes);
        charge_status why;
        void* const p = detail::allocate_on(from, size, memory_type::unit, stream, why);
        if (ALLOT_UNLIKELY(p == nullptr && size != 0))
            allot::detail::raise_refused("PyTorch's device memory", size, why);
        return p;
    }
    /// Frees at this point of the stream: its work until now may still use the memory. A default stream is that of this
    /// device. Null is ignored; a device that never allocated is misuse.
    void deallocate(void* p, std::ptrdiff_t, int device, stream_type stream) noexcept {
        if (p == nullptr) return;
        memory_type* const from = used(device);
        if (ALLOT_UNLIKELY(from == nullptr))
            return allot::detail::report_misuse({.kind = misuse::foreign_pointer, .address = p});
        std::optional<current_device> here;
        if (ALLOT_LIKELY(make_current(here, *from, stream))) from->deallocate(p, stream); // else it is not used again
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
    using api_type = typename memory_type::api_type;
    using current_device = allot::device::current_device<api_type>;

    // For a default stream, which is the current device's. False: it failed.
    static bool make_current(std::optional<current_device>& here, const memory_type& of, stream_type stream) noexcept {
        if (allot::device::detail::is_default_stream<api_type>(stream)) here.emplace(of.api(), of.device());
        return !here || *here;
    }
    [[noreturn]] ALLOT_COLD static void refuse(std::ptrdiff_t bytes, const char* what) {
        const std::size_t size = bytes < 0 ? 0 - static_cast<std::size_t>(bytes) : static_cast<std::size_t>(bytes);
        const auto request = [&](text_writer& out) {
            out.put("out of memory: ").put(bytes < 0 ? "-" : "").bytes(size);
        };
        allot::detail::raise_refused(
            request, "PyTorch's device memory", "",
            {.outcome = charge_outcome::misused, .requested = bytes < 0 ? 0 : size, .name = what}, size,
            [](text_writer&) {});
    }
    memory_type& memory(int device, std::ptrdiff_t bytes) {
        if (memory_type* const there = used(device); ALLOT_LIKELY(there != nullptr)) return *there;
        return make(device, bytes);
    }
    ALLOT_COLD memory_type& make(int device, std::ptrdiff_t bytes) {
        if (device < 0 || device >= max_devices) refuse(bytes, "a device that does not exist");
        const std::lock_guard hold{lock_};
        if (memory_type* const there = used(device)) return *there;
        std::unique_ptr<memory_type> made = make_(device_id{device});
        if (made == nullptr) refuse(bytes, "the function that makes the device's allocator returned null");
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
