// adapt::cuda_mr in the hands of RMM: as its resource references, below its adaptors, and in its containers. The
// adaptors run, over host memory and in streams; what needs a device is compiled alone (their calls without a stream,
// too).
#include <allot/adapt/cuda_mr.hpp>

#include <allot/device/cuda.hpp>
#include <allot/device_allocator.hpp>
#include <allot/ledger/tree.hpp>

#include <cuda/stream_ref>
#include <rmm/device_buffer.hpp>
#include <rmm/device_uvector.hpp>
#include <rmm/mr/limiting_resource_adaptor.hpp>
#include <rmm/mr/per_device_resource.hpp>
#include <rmm/mr/statistics_resource_adaptor.hpp>
#include <rmm/resource_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

namespace adapt = allot::adapt;
using namespace allot::literals;

static int wrong = 0;
#define CHECK(...)                                                                                                     \
    ((__VA_ARGS__) ? void() : (void)(++wrong, std::printf("%s:%d: %s\n", __FILE__, __LINE__, #__VA_ARGS__)))

// What docs/rmm.md shows.
struct task_memory : allot::policies<allot::page::on_device<allot::device::cuda>, allot::fit::best,
                                     allot::order::stream, allot::ledger::tree> {};
using on_gpu = adapt::cuda_mr<allot::device_allocator<task_memory>>;
static_assert(cuda::mr::resource_with<on_gpu, cuda::mr::device_accessible>);
static_assert(std::is_constructible_v<rmm::device_async_resource_ref, on_gpu&>);
static_assert(std::is_constructible_v<rmm::device_resource_ref, on_gpu&>);
static_assert(std::is_constructible_v<cuda::mr::any_resource<cuda::mr::device_accessible>, on_gpu>);

// Compiled, not called: it needs a device.
std::size_t on_a_device(allot::account& query, cuda::stream_ref stream) {
    allot::device_allocator<task_memory> gpu{allot::device_id{0}, query};
    on_gpu mr{gpu};
    rmm::device_uvector<int> numbers{1'000'000, stream, mr};
    rmm::device_buffer bytes{1 << 20, stream, mr};
    numbers.resize(2'000'000, stream);
    auto const before = rmm::mr::set_current_device_resource(mr);
    rmm::device_uvector<double> more{1000, stream}; // all that names no resource
    rmm::mr::set_current_device_resource(before);
    return numbers.size() + bytes.size() + more.size();
}

namespace {

cudaStream_t stream_number(std::uintptr_t n) { return reinterpret_cast<cudaStream_t>(n << 4); }

// Host memory with a limit.
struct host_memory {
    using stream_type = cudaStream_t;
    std::size_t live = 0, blocks = 0;
    stream_type last{};
    void* try_allocate(std::size_t bytes, std::size_t align) {
        if (live + bytes > 1_MiB) return nullptr;
        live += bytes, ++blocks;
        return std::aligned_alloc(align, (bytes + align - 1) / align * align);
    }
    void* try_allocate(std::size_t bytes, std::size_t align, stream_type s) {
        return last = s, try_allocate(bytes, align);
    }
    void deallocate(void* p, std::size_t bytes) {
        live -= bytes, --blocks;
        std::free(p);
    }
    void deallocate(void* p, std::size_t bytes, stream_type s) { last = s, deallocate(p, bytes); }
};
using on_host = adapt::cuda_mr<host_memory>;

template <class Work> bool out_of_memory(Work work) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        return true;
    }
    return false;
}

void below_adaptors() {
    host_memory memory;
    {
        const on_host mr{memory};
        rmm::mr::statistics_resource_adaptor counted{mr};
        rmm::mr::limiting_resource_adaptor limited{counted, 600'000};
        rmm::device_async_resource_ref to{limited};
        void* const a = to.allocate(cuda::stream_ref{stream_number(5)}, 1000, 256);
        CHECK(a != nullptr && memory.live == 1000 && memory.last == stream_number(5));
        void* const b = to.allocate(cuda::stream_ref{stream_number(6)}, 500'000, 256);
        CHECK(b != nullptr && counted.get_bytes_counter().value == 501'000);
        CHECK(
            out_of_memory([&] { (void)to.allocate(cuda::stream_ref{stream_number(5)}, 200'000, 256); })); // RMM's limit
        CHECK(out_of_memory([&] { (void)counted.allocate(cuda::stream_ref{stream_number(6)}, 600'000, 256); })); // ours
        CHECK(memory.live == 501'000 && counted.get_bytes_counter().value == 501'000);
        to.deallocate(cuda::stream_ref{stream_number(7)}, a, 1000, 256);
        CHECK(memory.live == 500'000 && memory.last == stream_number(7));
        to.deallocate(cuda::stream_ref{stream_number(6)}, b, 500'000, 256);
        CHECK(counted.get_bytes_counter().value == 0 && counted.get_bytes_counter().peak == 501'000);
    }
    CHECK(memory.live == 0 && memory.blocks == 0);
}

// RMM owns a copy of the resource: it refers to the memory, not to the object that it was made from.
void owned_by_rmm() {
    host_memory memory;
    cuda::mr::any_resource<cuda::mr::device_accessible> kept{on_host{memory}};
    {
        const on_host other{memory};
        CHECK(kept == cuda::mr::any_resource<cuda::mr::device_accessible>{other});
        host_memory elsewhere;
        CHECK(kept != cuda::mr::any_resource<cuda::mr::device_accessible>{on_host{elsewhere}});
    }
    void* const p = kept.allocate(cuda::stream_ref{stream_number(3)}, 4096, 256);
    CHECK(memory.live == 4096);
    kept.deallocate(cuda::stream_ref{stream_number(3)}, p, 4096, 256);
    CHECK(memory.live == 0);
}

} // namespace

int main() {
    below_adaptors();
    owned_by_rmm();
    std::printf(wrong == 0 ? "RMM's adaptors ran over host memory; its containers were compiled\n" : "bad\n");
    return wrong == 0 ? 0 : 1;
}
