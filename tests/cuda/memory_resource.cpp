// adapt::cuda_mr under CCCL's own words, whichever generation of them the headers have: over host memory, and over a
// simulated device, where a wait that is missing is a hazard.
#include <allot/adapt/cuda_mr.hpp>

#include <allot/core/retry_error.hpp>
#include <allot/device/simulated.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>

namespace adapt = allot::adapt;
namespace device = allot::device;

static int wrong = 0;
#define CHECK(...)                                                                                                     \
    ((__VA_ARGS__) ? void() : (void)(++wrong, std::printf("%s:%d: %s\n", __FILE__, __LINE__, #__VA_ARGS__)))

namespace {

cudaStream_t stream_number(std::uintptr_t n) { return reinterpret_cast<cudaStream_t>(n << 4); }

// Host memory, with a pair of its own for callers without streams, which is told of sizes.
struct host_memory {
    using stream_type = cudaStream_t;
    std::size_t live = 0, calls = 0, most = std::size_t{1} << 20;
    stream_type last{};
    void* try_allocate(std::size_t bytes, std::size_t align) {
        ++calls;
        if (live + bytes > most) return nullptr;
        live += bytes;
        return std::aligned_alloc(align, (bytes + align - 1) / align * align);
    }
    void* try_allocate(std::size_t bytes, std::size_t align, stream_type s) {
        last = s;
        return try_allocate(bytes, align);
    }
    void deallocate(void* p, std::size_t bytes) {
        ++calls;
        live -= bytes;
        std::free(p);
    }
    void deallocate(void* p, std::size_t bytes, stream_type s) {
        last = s;
        deallocate(p, bytes);
    }
};

// A simulated device's memory as a device_allocator offers it: streams alone, sizes not asked for, its api behind it.
struct simulated_memory {
    using stream_type = cudaStream_t;
    struct streams_of_cuda {
        simulated_memory* self;
        device::result<> synchronize(stream_type s) const { return self->real.synchronize(self->of(s)); }
    };
    device::simulated real;
    std::map<stream_type, device::simulated::stream_type> known{};
    device::simulated::stream_type of(stream_type s) {
        const auto at = known.find(s);
        return at != known.end()
                   ? at->second
                   : known.emplace(s, *real.create_stream({0}, device::stream_kind::non_blocking)).first->second;
    }
    streams_of_cuda api() { return {this}; }
    void* try_allocate(std::size_t bytes, std::size_t, stream_type s) {
        return real.allocate_async(bytes, of(s)).value_or(nullptr);
    }
    void deallocate(void* p, stream_type s) { (void)real.deallocate_async(p, of(s)); }
};

// Memory that may wait, and throws what its arbiter decides.
struct judged_memory : simulated_memory {
    void* allocate(std::size_t bytes, std::size_t align, stream_type s) {
        if (bytes > 1024) throw allot::retry_out_of_memory{{}, allot::memory_kind::device};
        return try_allocate(bytes, align, s);
    }
};

static_assert(adapt::device_memory<host_memory> && adapt::synchronous_memory<host_memory>);
static_assert(adapt::device_memory<simulated_memory> && !adapt::synchronous_memory<simulated_memory>);
static_assert(!adapt::device_memory<int>);

using on_host = adapt::cuda_mr<host_memory, cuda::mr::host_accessible, cuda::mr::device_accessible>;
using on_device = adapt::cuda_mr<simulated_memory>;
static_assert(cuda::has_property<on_host, cuda::mr::host_accessible> &&
              cuda::has_property<on_host, cuda::mr::device_accessible>);
static_assert(cuda::has_property<on_device, cuda::mr::device_accessible> &&
              !cuda::has_property<on_device, cuda::mr::host_accessible>);

// What each generation calls them.
#if CCCL_VERSION < 3001000
static_assert(cuda::mr::resource<on_host> && cuda::mr::async_resource<on_host> && cuda::mr::async_resource<on_device>);
static_assert(cuda::mr::async_resource_with<on_device, cuda::mr::device_accessible>);
using any_stream = cuda::mr::resource_ref<cuda::mr::device_accessible>;
using for_stream = cuda::mr::async_resource_ref<cuda::mr::device_accessible>;
void* take(any_stream r, std::size_t n, std::size_t align) { return r.allocate(n, align); }
void give(any_stream r, void* p, std::size_t n, std::size_t align) { r.deallocate(p, n, align); }
void* take(for_stream r, cudaStream_t s, std::size_t n, std::size_t align) { return r.allocate_async(n, align, s); }
void give(for_stream r, cudaStream_t s, void* p, std::size_t n, std::size_t align) {
    r.deallocate_async(p, n, align, s);
}
#else
static_assert(cuda::mr::synchronous_resource<on_host> && cuda::mr::resource<on_host> && cuda::mr::resource<on_device>);
static_assert(cuda::mr::resource_with<on_device, cuda::mr::device_accessible>);
using any_stream = cuda::mr::synchronous_resource_ref<cuda::mr::device_accessible>;
using for_stream = cuda::mr::resource_ref<cuda::mr::device_accessible>;
void* take(any_stream r, std::size_t n, std::size_t align) { return r.allocate_sync(n, align); }
void give(any_stream r, void* p, std::size_t n, std::size_t align) { r.deallocate_sync(p, n, align); }
void* take(for_stream r, cudaStream_t s, std::size_t n, std::size_t align) {
    return r.allocate(cuda::stream_ref{s}, n, align);
}
void give(for_stream r, cudaStream_t s, void* p, std::size_t n, std::size_t align) {
    r.deallocate(cuda::stream_ref{s}, p, n, align);
}
#endif

template <class Work> bool out_of_memory(Work&& work) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        return true;
    }
    return false;
}

void on_host_memory() {
    host_memory memory;
    on_host mr{memory};
    void* const a = take(any_stream{mr}, 1000, 4096);
    CHECK(memory.live == 1000 && memory.last == cudaStream_t{} && reinterpret_cast<std::uintptr_t>(a) % 4096 == 0);
    void* const b = take(for_stream{mr}, stream_number(5), 24, 512);
    CHECK(memory.live == 1024 && memory.last == stream_number(5) && reinterpret_cast<std::uintptr_t>(b) % 512 == 0);
    give(for_stream{mr}, stream_number(7), b, 24, 512);
    CHECK(memory.live == 1000 && memory.last == stream_number(7));
    give(any_stream{mr}, a, 1000, 4096);
    CHECK(memory.live == 0 && memory.last == stream_number(7));

    // The words of both generations, whichever headers there are.
    const cuda::stream_ref s{stream_number(9)};
    void* const p[] = {mr.allocate(8), mr.allocate_sync(8), mr.allocate(s, 8), mr.allocate_async(8, s),
                       mr.allocate_async(8, 8, s)};
    CHECK(memory.live == 40 && memory.last == stream_number(9) && reinterpret_cast<std::uintptr_t>(p[0]) % 256 == 0);
    mr.deallocate(p[0], 8);
    mr.deallocate_sync(p[1], 8);
    mr.deallocate(s, p[2], 8);
    mr.deallocate_async(p[3], 8, s);
    mr.deallocate_async(p[4], 8, 8, s);
    CHECK(memory.live == 0);

    CHECK(out_of_memory([&] { (void)mr.allocate(memory.most + 1); }));
    CHECK(out_of_memory([&] { (void)mr.allocate(s, memory.most + 1); }));
    const std::size_t calls = memory.calls;
    CHECK(mr.allocate(0) == nullptr && mr.allocate(s, 0) == nullptr); // null is no failure
    mr.deallocate(nullptr, 0);
    mr.deallocate(s, nullptr, 0);
    CHECK(memory.calls == calls);

    host_memory other;
    const on_host copy{mr}, another{other};
    CHECK(copy == mr && another != mr && &copy.memory() == &memory);
}

void on_simulated_device() {
    device::simulator sim{{.sink = device::hazard_sink::quiet()}};
    simulated_memory memory{.real = device::simulated{sim}};
    on_device mr{memory, stream_number(1)};
    const auto use = [&](void* p, cudaStream_t s) { (void)sim.launch(memory.of(s), {}, {{p, 64}}, nullptr, "use"); };

    // Without a stream: for all of them, at once.
    void* const a = take(any_stream{mr}, 64, 256);
    use(a, stream_number(2));
    CHECK(sim.hazards() == 0);
    (void)memory.api().synchronize(stream_number(2));
    give(any_stream{mr}, a, 64, 256);
    CHECK(sim.hazards() == 0);

    // With one: for it alone, freed where it says.
    void* const b = take(for_stream{mr}, stream_number(3), 64, 256);
    use(b, stream_number(3));
    give(for_stream{mr}, stream_number(3), b, 64, 256);
    CHECK(sim.hazards() == 0);
    void* const c = take(for_stream{mr}, stream_number(3), 64, 256);
    use(c, stream_number(2));
    CHECK(sim.hazards() == 1); // the device tells those who do not wait
    give(for_stream{mr}, stream_number(3), c, 64, 256);
    sim.forget_hazards();

    CHECK(out_of_memory([&] { (void)mr.allocate(std::size_t{1} << 50); }));
    sim.fail(device::call::synchronize_stream, {.nth = 1, .kind = device::failure::device_lost});
    CHECK(out_of_memory([&] { (void)mr.allocate(64); })); // not handed out without the wait, and given back
    for (const auto& [cuda, real] : memory.known)
        (void)memory.real.synchronize(real), (void)memory.real.destroy_stream(real);
    CHECK(sim.hazards() == 0 && sim.leaks() == 0);
}

template <class Work> bool rolled_back(Work&& work) {
    try {
        work();
    } catch (const allot::retry_out_of_memory&) {
        return true;
    }
    return false;
}
void verdicts_arrive() {
    device::simulator sim{{.sink = device::hazard_sink::quiet()}};
    judged_memory memory{{.real = device::simulated{sim}}};
    adapt::cuda_mr<judged_memory> mr{memory, stream_number(1)};
    CHECK(rolled_back([&] { (void)take(any_stream{mr}, 2048, 256); }));
    CHECK(rolled_back([&] { (void)take(for_stream{mr}, stream_number(3), 2048, 256); }));
    give(any_stream{mr}, take(any_stream{mr}, 64, 256), 64, 256);
    for (const auto& [cuda, real] : memory.known)
        (void)memory.real.synchronize(real), (void)memory.real.destroy_stream(real);
    CHECK(sim.hazards() == 0 && sim.leaks() == 0);
}

} // namespace

int main() {
    on_host_memory();
    on_simulated_device();
    verdicts_arrive();
    std::printf("CCCL %d.%d.%d: %d wrong\n", CCCL_MAJOR_VERSION, CCCL_MINOR_VERSION, CCCL_PATCH_VERSION, wrong);
    return wrong == 0 ? 0 : 1;
}
