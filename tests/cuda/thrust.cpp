// adapt::thrust_mr under Thrust's vectors, algorithms and pools, on a system that runs on the host: memory of a
// simulated device is ordinary memory there, and what is not freed is told.
#include <allot/adapt/thrust_mr.hpp>

#include <allot/core/retry_error.hpp>
#include <allot/device/simulated.hpp>

#include <cstdint>
#include <cstdio>
#include <new>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/mr/allocator.h>
#include <thrust/mr/disjoint_pool.h>
#include <thrust/mr/new.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <utility>

namespace adapt = allot::adapt;
namespace device = allot::device;

static int wrong = 0;
#define CHECK(...)                                                                                                     \
    ((__VA_ARGS__) ? void() : (void)(++wrong, std::printf("%s:%d: %s\n", __FILE__, __LINE__, #__VA_ARGS__)))

namespace {

// Streams alone, as a device_allocator has them.
struct simulated_memory {
    using api_type = device::simulated;
    using stream_type = api_type::stream_type;
    device::simulated real;
    std::size_t blocks = 0, taken = 0;
    const device::simulated& api() const { return real; }
    void* try_allocate(std::size_t bytes, std::size_t align, stream_type s) {
        void* const p = align <= 256 ? real.allocate_async(bytes, s).value_or(nullptr) : nullptr;
        blocks += p != nullptr;
        taken += p != nullptr;
        return p;
    }
    void deallocate(void* p, stream_type s) {
        --blocks;
        (void)real.deallocate_async(p, s);
    }
};

using resource = adapt::thrust_mr<simulated_memory>;
template <class T> using vector = thrust::device_vector<T, thrust::mr::allocator<T, resource>>;

void vectors(simulated_memory& memory) {
    resource mr{memory};
    {
        vector<int> v(1000, 7, &mr);
        CHECK(memory.blocks == 1 && thrust::reduce(v.begin(), v.end()) == 7000);
        thrust::sequence(v.begin(), v.end());
        thrust::sort(v.begin(), v.end(), thrust::greater<int>());
        CHECK(v[0] == 999 && v[999] == 0);
        v.resize(5000, 1);
        CHECK(memory.blocks == 1 && thrust::reduce(v.begin(), v.end()) == 999 * 500 + 4000);
        const vector<int> copy{v};
        CHECK(memory.blocks == 2 && copy[4999] == 1);
        vector<int> moved{std::move(v)};
        CHECK(memory.blocks == 2 && moved.size() == 5000);
        const thrust::host_vector<int> here(moved.begin(), moved.end());
        CHECK(here[1] == 998);
    }
    CHECK(memory.blocks == 0 && memory.taken >= 3);
}

// Each block goes back to where it came from, whatever vectors do with each other.
void two_memories(simulated_memory& memory) {
    simulated_memory second{memory.real};
    for (int how = 0; how != 3; ++how) {
        resource a{memory}, b{second};
        CHECK(a != b && a == resource{memory});
        {
            vector<int> v(1000, 1, &a), w(500, 2, &b);
            if (how == 0) v = w;
            if (how == 1) v = std::move(w);
            if (how == 2) v.swap(w);
            CHECK(v.size() == 500 && v[499] == 2);
        }
        CHECK(memory.blocks == 0 && second.blocks == 0);
    }
}

void pools(simulated_memory& memory) {
    resource mr{memory};
    const std::size_t before = memory.taken;
    {
        thrust::mr::disjoint_unsynchronized_pool_resource<resource, thrust::mr::new_delete_resource> pool{
            &mr, thrust::mr::get_global_resource<thrust::mr::new_delete_resource>()};
        using pooled = thrust::device_vector<int, thrust::mr::allocator<int, decltype(pool)>>;
        for (int i = 0; i != 100; ++i) {
            const pooled v(static_cast<std::size_t>(10 + i), i, &pool);
            CHECK(v[5] == i);
        }
        CHECK(memory.blocks != 0 && memory.taken - before < 20); // the pool keeps what it has
    }
    CHECK(memory.blocks == 0);
}

bool full(simulated_memory& memory) {
    resource mr{memory};
    try {
        const vector<char> v(std::size_t{1} << 40, &mr);
    } catch (const std::bad_alloc&) {
        return memory.blocks == 0;
    }
    return false;
}

// Memory that may wait, and throws what its arbiter decides.
struct judged_memory : simulated_memory {
    void* allocate(std::size_t, std::size_t, stream_type) {
        throw allot::retry_out_of_memory{{}, allot::memory_kind::device};
    }
};
bool verdict_arrives(const device::simulated& real) {
    judged_memory memory{{real}};
    adapt::thrust_mr mr{memory};
    try {
        const thrust::device_vector<char, thrust::mr::allocator<char, decltype(mr)>> v(10, &mr);
    } catch (const allot::retry_out_of_memory&) {
        return true;
    }
    return false;
}

} // namespace

int main() {
    device::simulator sim{{.total_bytes = std::size_t{64} << 20, .sink = device::hazard_sink::quiet()}};
    simulated_memory memory{device::simulated{sim}};
    vectors(memory);
    two_memories(memory);
    pools(memory);
    CHECK(full(memory));
    CHECK(verdict_arrives(memory.real));
    CHECK(resource{memory}.do_allocate(0, 8).get() == nullptr && memory.blocks == 0); // null is no failure
    resource{memory}.do_deallocate(resource::pointer{}, 0, 8);
    CHECK(sim.hazards() == 0 && sim.leaks() == 0);
    std::printf("Thrust %d.%d.%d, %s: %d wrong\n", THRUST_MAJOR_VERSION, THRUST_MINOR_VERSION, THRUST_SUBMINOR_VERSION,
                THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_OMP ? "OpenMP" : "C++", wrong);
    return wrong == 0 ? 0 : 1;
}
