// device::cuda: NVIDIA GPUs as a model of the device seam. The CUDA runtime is linked statically (allot::cuda_runtime);
// calls of the driver are looked up at run time. Without a driver the program starts, and every call fails: "no
// device".
//
// Empty: the state is CUDA's. A call that takes a device_id makes it the thread's current device while it lasts. Needs
// CUDA's headers, 12.8 or later, and no nvcc.
// Cost: that of CUDA's call; after a failure the runtime's last error is cleared. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/device/api.hpp>
#include <allot/device/cuda_driver.hpp>
#include <allot/device/cuda_error.hpp>
#include <allot/device/current_device.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda_runtime_api.h>

namespace allot::inline ALLOT_ABI {
namespace device {

/// CUDA as a device api; see api.hpp for the calls.
class cuda {
  public:
    using stream_type = cudaStream_t;
    using event_type = cudaEvent_t;
    using graph_type = cudaGraphExec_t;
    static constexpr const char* name = "cuda";

    struct memory_type {
        CUmemGenericAllocationHandle handle = 0;

        friend constexpr bool operator==(memory_type, memory_type) noexcept = default;
    };

    // --- plain, stream-ordered and pinned memory ---------------------------------------------------------------
    result<void*> allocate(device_id device, std::size_t bytes) const noexcept {
        const current_device here{*this, device};
        if (!here) return here.error();
        void* p = nullptr;
        return value_or_error(cudaMalloc(&p, bytes), "cudaMalloc", p);
    }
    result<> deallocate(device_id device, void* p) const noexcept {
        const current_device here{*this, device};
        if (!here) return here.error();
        return success_or_error(cudaFree(p), "cudaFree");
    }
    result<void*> allocate_async(std::size_t bytes, stream_type stream) const noexcept {
        void* p = nullptr;
        return value_or_error(cudaMallocAsync(&p, bytes, stream), "cudaMallocAsync", p);
    }
    result<> deallocate_async(void* p, stream_type stream) const noexcept {
        return success_or_error(cudaFreeAsync(p, stream), "cudaFreeAsync");
    }
    result<void*> allocate_pinned(std::size_t bytes) const noexcept {
        void* p = nullptr;
        return value_or_error(cudaHostAlloc(&p, bytes, cudaHostAllocPortable), "cudaHostAlloc", p);
    }
    result<> deallocate_pinned(void* p) const noexcept { return success_or_error(cudaFreeHost(p), "cudaFreeHost"); }

    // --- virtual memory ----------------------------------------------------------------------------------------
    result<std::size_t> granularity(device_id device) const noexcept {
        const current_device here{*this, device};
        if (!here) return here.error();
        const detail::cuda_driver& driver = detail::cuda_driver::get();
        if (driver.code != 0) return fail(driver.code, "cuMemGetAllocationGranularity");
        const CUmemAllocationProp what = properties_on(device);
        std::size_t bytes = 0;
        return value_or_error(driver.granularity(&bytes, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                              "cuMemGetAllocationGranularity", bytes);
    }
    result<void*> reserve(device_id device, std::size_t bytes, std::size_t alignment) const noexcept {
        const current_device here{*this, device};
        if (!here) return here.error();
        const detail::cuda_driver& driver = detail::cuda_driver::get();
        if (driver.code != 0) return fail(driver.code, "cuMemAddressReserve");
        CUdeviceptr at = 0;
        const auto code = driver.reserve(&at, bytes, alignment, 0, 0);
        return value_or_error(code, "cuMemAddressReserve", reinterpret_cast<void*>(at));
    }
    result<> free_address(void* p, std::size_t bytes) const noexcept {
        return call_driver(&detail::cuda_driver::free_address, "cuMemAddressFree", pointer(p), bytes);
    }
    result<memory_type> create(device_id device, std::size_t bytes) const noexcept {
        const current_device here{*this, device};
        if (!here) return here.error();
        const detail::cuda_driver& driver = detail::cuda_driver::get();
        if (driver.code != 0) return fail(driver.code, "cuMemCreate");
        const CUmemAllocationProp what = properties_on(device);
        memory_type made{};
        const auto code = driver.create(&made.handle, bytes, &what, 0);
        return value_or_error(code, "cuMemCreate", made);
    }
    result<> release(memory_type memory) const noexcept {
        return call_driver(&detail::cuda_driver::release, "cuMemRelease", memory.handle);
    }
    result<> map(void* p, memory_type memory, std::size_t bytes) const noexcept {
        return call_driver(&detail::cuda_driver::map, "cuMemMap", pointer(p), bytes, std::size_t{0}, memory.handle,
                           0ULL);
    }
    result<> set_access(void* p, std::size_t bytes, device_id device, access rights) const noexcept {
        CUmemAccessDesc what{};
        what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        what.location.id = device.index;
        what.flags = rights == access::read_write ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                     : rights == access::read     ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                  : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return call_driver(&detail::cuda_driver::set_access, "cuMemSetAccess", pointer(p), bytes, &what,
                           std::size_t{1});
    }
    result<> unmap(void* p, std::size_t bytes) const noexcept {
        return call_driver(&detail::cuda_driver::unmap, "cuMemUnmap", pointer(p), bytes);
    }

    // --- streams and events ------------------------------------------------------------------------------------
    static stream_type legacy_stream() noexcept { return cudaStreamLegacy; }
    static stream_type per_thread_stream() noexcept { return cudaStreamPerThread; }
    result<stream_type> create_stream(device_id device, stream_kind kind) const noexcept {
        const current_device here{*this, device};
        if (!here) return here.error();
        stream_type made = nullptr;
        const unsigned flags = kind == stream_kind::blocking ? cudaStreamDefault : cudaStreamNonBlocking;
        return value_or_error(cudaStreamCreateWithFlags(&made, flags), "cudaStreamCreateWithFlags", made);
    }
    result<> destroy_stream(stream_type stream) const noexcept {
        return success_or_error(cudaStreamDestroy(stream), "cudaStreamDestroy");
    }
    result<std::uint64_t> stream_id(stream_type stream) const noexcept {
        unsigned long long id = 0;
        const auto code = cudaStreamGetId(stream, &id);
        return value_or_error(code, "cudaStreamGetId", std::uint64_t{id});
    }
    result<device_id> device_of(stream_type stream) const noexcept {
        device_id found{};
        return value_or_error(cudaStreamGetDevice(stream, &found.index), "cudaStreamGetDevice", found);
    }
    result<bool> query(stream_type stream) const noexcept { return ready(cudaStreamQuery(stream), "cudaStreamQuery"); }
    result<> synchronize(stream_type stream) const noexcept {
        return success_or_error(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
    result<> synchronize(device_id device) const noexcept {
        const current_device here{*this, device};
        if (!here) return here.error();
        return success_or_error(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    result<device_id> current() const noexcept {
        device_id found{};
        return value_or_error(cudaGetDevice(&found.index), "cudaGetDevice", found);
    }
    result<> set_current(device_id device) const noexcept {
        return success_or_error(cudaSetDevice(device.index), "cudaSetDevice");
    }
    result<event_type> create_event(device_id device) const noexcept {
        const current_device here{*this, device};
        if (!here) return here.error();
        event_type made = nullptr;
        return value_or_error(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags",
                              made);
    }
    result<> destroy_event(event_type event) const noexcept {
        return success_or_error(cudaEventDestroy(event), "cudaEventDestroy");
    }
    result<> record(event_type event, stream_type stream) const noexcept {
        return success_or_error(cudaEventRecord(event, stream), "cudaEventRecord");
    }
    result<> wait(stream_type stream, event_type event) const noexcept {
        return success_or_error(cudaStreamWaitEvent(stream, event, cudaEventWaitDefault), "cudaStreamWaitEvent");
    }
    result<bool> query(event_type event) const noexcept { return ready(cudaEventQuery(event), "cudaEventQuery"); }
    result<> synchronize(event_type event) const noexcept {
        return success_or_error(cudaEventSynchronize(event), "cudaEventSynchronize");
    }

    // --- copies and fills --------------------------------------------------------------------------------------
    result<> copy_async(void* to, const void* from, std::size_t bytes, stream_type stream) const noexcept {
        return success_or_error(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
    }
    // n copies, in any order among them. For kernels' rows, which are small: one call of the driver, where it has that.
    result<> copy_batch_async(void* const* to, void* const* from, const std::size_t* bytes, std::size_t n,
                              stream_type stream) const noexcept {
        if (copied_at_once(to, from, bytes, n, stream)) return {};
        for (std::size_t i = 0; i != n; ++i)
            if (auto copied = copy_async(to[i], from[i], bytes[i], stream); !copied) return copied;
        return {};
    }
    result<> copy_peer_async(void* to, device_id to_device, const void* from, device_id from_device, std::size_t bytes,
                             stream_type stream) const noexcept {
        return success_or_error(cudaMemcpyPeerAsync(to, to_device.index, from, from_device.index, bytes, stream),
                                "cudaMemcpyPeerAsync");
    }
    result<> fill_async(void* p, unsigned char value, std::size_t bytes, stream_type stream) const noexcept {
        return success_or_error(cudaMemsetAsync(p, value, bytes, stream), "cudaMemsetAsync");
    }

    // --- devices -----------------------------------------------------------------------------------------------
    result<int> device_count() const noexcept {
        int n = 0;
        return value_or_error(cudaGetDeviceCount(&n), "cudaGetDeviceCount", n);
    }
    result<properties> properties_of(device_id device) const noexcept {
        cudaDeviceProp all{};
        if (const auto code = cudaGetDeviceProperties(&all, device.index)) return fail(code, "cudaGetDeviceProperties");
        static_assert(sizeof properties::name <= sizeof all.name);
        properties p{};
        std::memcpy(p.name, all.name, sizeof p.name - 1);
        p.total_bytes = all.totalGlobalMem;
        p.multiprocessors = all.multiProcessorCount;
        p.warp_size = all.warpSize;
        p.compute_major = all.major;
        p.compute_minor = all.minor;
        p.memory_pools = all.memoryPoolsSupported != 0;
        p.granularity = granularity(device).value_or(0); // an error means no virtual memory
        p.virtual_memory = p.granularity != 0;
        return p;
    }
    result<memory_stats> memory_of(device_id device) const noexcept {
        const current_device here{*this, device};
        if (!here) return here.error();
        memory_stats m{};
        const auto code = cudaMemGetInfo(&m.free_bytes, &m.total_bytes);
        return value_or_error(code, "cudaMemGetInfo", m);
    }
    result<bool> can_access_peer(device_id device, device_id peer) const noexcept {
        int can = 0;
        const auto code = cudaDeviceCanAccessPeer(&can, device.index, peer.index);
        return value_or_error(code, "cudaDeviceCanAccessPeer", can != 0);
    }
    result<> enable_peer(device_id device, device_id peer) const noexcept {
        const current_device here{*this, device};
        if (!here) return here.error();
        const auto code = cudaDeviceEnablePeerAccess(peer.index, 0);
        if (code != cudaErrorPeerAccessAlreadyEnabled) return success_or_error(code, "cudaDeviceEnablePeerAccess");
        (void)cudaGetLastError();
        return {};
    }

    // --- capture -----------------------------------------------------------------------------------------------
    result<capture_state> capturing(stream_type stream) const noexcept {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        if (const auto code = cudaStreamIsCapturing(stream, &status)) return fail(code, "cudaStreamIsCapturing");
        return status == cudaStreamCaptureStatusNone     ? capture_state::none
               : status == cudaStreamCaptureStatusActive ? capture_state::active
                                                         : capture_state::invalidated;
    }
    result<capture_mode> exchange_capture_mode(capture_mode mode) const noexcept {
        cudaStreamCaptureMode now = native(mode);
        const auto code = cudaThreadExchangeStreamCaptureMode(&now);
        return value_or_error(code, "cudaThreadExchangeStreamCaptureMode",
                              now == cudaStreamCaptureModeGlobal        ? capture_mode::global
                              : now == cudaStreamCaptureModeThreadLocal ? capture_mode::one_thread
                                                                        : capture_mode::relaxed);
    }
    result<> begin_capture(stream_type stream, capture_mode mode) const noexcept {
        return success_or_error(cudaStreamBeginCapture(stream, native(mode)), "cudaStreamBeginCapture");
    }
    result<graph_type> end_capture(stream_type stream) const noexcept {
        cudaGraph_t captured = nullptr;
        if (const auto code = cudaStreamEndCapture(stream, &captured)) return fail(code, "cudaStreamEndCapture");
        graph_type ready_to_launch = nullptr;
        const auto code = cudaGraphInstantiate(&ready_to_launch, captured, 0);
        (void)cudaGraphDestroy(captured);
        return value_or_error(code, "cudaGraphInstantiate", ready_to_launch);
    }
    result<> launch_graph(graph_type graph, stream_type stream) const noexcept {
        return success_or_error(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
    }
    result<> destroy_graph(graph_type graph) const noexcept {
        return success_or_error(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
    }

  private:
    // By one call of the driver, as in CUDA 13. False: the call is another one, or refuses the default stream, or
    // memory that it cannot copy in this way.
    template <class Stream>
    static bool copied_at_once(void* const* to, void* const* from, const std::size_t* bytes, std::size_t n,
                               Stream stream) noexcept {
        cudaMemcpyAttributes how{};
        how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        std::size_t first = 0; // of the copies for which `how` holds
        const auto sources = const_cast<const void* const*>(from);
        if constexpr (requires { cudaMemcpyBatchAsync(to, sources, bytes, n, &how, &first, 1, stream); }) {
            if (cudaMemcpyBatchAsync(to, sources, bytes, n, &how, &first, 1, stream) == cudaSuccess) return true;
            static_cast<void>(cudaGetLastError());
        }
        return false;
    }
    static error fail(int code, const char* call) noexcept { return detail::cuda_error(code, call); }
    static result<> success_or_error(int code, const char* call) noexcept {
        if (ALLOT_LIKELY(code == 0)) return {};
        return fail(code, call);
    }
    template <class T> static result<T> value_or_error(int code, const char* call, const T& value) noexcept {
        if (ALLOT_LIKELY(code == 0)) return value;
        return fail(code, call);
    }
    static result<bool> ready(cudaError_t code, const char* call) noexcept {
        if (code == cudaSuccess) return true;
        const error e = fail(code, call); // also clears "not ready" from the last error
        if (code == cudaErrorNotReady) return false;
        return e;
    }
    template <class Call, class... Values>
    static result<> call_driver(Call detail::cuda_driver::* call, const char* what, Values... values) noexcept {
        const detail::cuda_driver& driver = detail::cuda_driver::get();
        if (driver.code != 0) return fail(driver.code, what);
        return success_or_error((driver.*call)(values...), what);
    }
    static CUdeviceptr pointer(const void* p) noexcept { return reinterpret_cast<CUdeviceptr>(p); }
    static CUmemAllocationProp properties_on(device_id device) noexcept {
        CUmemAllocationProp what{};
        what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        what.location.id = device.index;
        return what;
    }
    static cudaStreamCaptureMode native(capture_mode mode) noexcept {
        return mode == capture_mode::global       ? cudaStreamCaptureModeGlobal
               : mode == capture_mode::one_thread ? cudaStreamCaptureModeThreadLocal
                                                  : cudaStreamCaptureModeRelaxed;
    }
};

static_assert(api<cuda> && std::is_empty_v<cuda> && !tracks_blocks<cuda>);

} // namespace device
} // namespace allot::inline ALLOT_ABI
