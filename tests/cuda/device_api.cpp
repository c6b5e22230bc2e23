// device::cuda in a program that no nvcc has seen. Without a driver the program starts, and every call says "no
// device". With one, each GPU answers as every model of the seam does.
#include <conform/device_api.hpp>

#include <allot/device/cuda.hpp>

#include <cstdio>

namespace device = allot::device;

namespace {

// A driver that is missing or too old, a stub, a machine without a GPU: one answer.
static_assert(device::detail::failure_of_cuda(34) == device::failure::no_device &&
              device::detail::failure_of_cuda(35) == device::failure::no_device &&
              device::detail::failure_of_cuda(100) == device::failure::no_device);

int wrong = 0;

template <class R> void says_no_device(const R& r, const char* call, int line) {
    char text[160];
    allot::text_writer out{text};
    write(out, r.error());
    if (r.kind() != device::failure::no_device) {
        ++wrong;
        std::printf("%s:%d: wrong: %s says \"%s\"\n", __FILE__, line, call, text);
    }
}
#define NO_DEVICE(...) says_no_device(__VA_ARGS__, #__VA_ARGS__, __LINE__)

int without_a_device() {
    const device::cuda api{};
    const allot::device_id first{0};
    const auto stream = device::cuda::legacy_stream();
    char bytes[64]{};
    NO_DEVICE(api.allocate(first, 64));
    NO_DEVICE(api.deallocate(first, bytes));
    NO_DEVICE(api.allocate_async(64, stream));
    NO_DEVICE(api.deallocate_async(bytes, stream));
    NO_DEVICE(api.allocate_pinned(64));
    NO_DEVICE(api.deallocate_pinned(bytes));
    NO_DEVICE(api.granularity(first));
    NO_DEVICE(api.reserve(first, 64, 0));
    NO_DEVICE(api.free_address(bytes, 64));
    NO_DEVICE(api.create(first, 64));
    NO_DEVICE(api.release({}));
    NO_DEVICE(api.map(bytes, {}, 64));
    NO_DEVICE(api.set_access(bytes, 64, first, device::access::read_write));
    NO_DEVICE(api.unmap(bytes, 64));
    NO_DEVICE(api.create_stream(first, device::stream_kind::blocking));
    NO_DEVICE(api.destroy_stream(stream));
    NO_DEVICE(api.stream_id(stream));
    NO_DEVICE(api.device_of(stream));
    NO_DEVICE(api.query(stream));
    NO_DEVICE(api.synchronize(stream));
    NO_DEVICE(api.synchronize(first));
    NO_DEVICE(api.current());
    NO_DEVICE(api.set_current(first));
    NO_DEVICE(api.create_event(first));
    NO_DEVICE(api.destroy_event(device::cuda::event_type{}));
    NO_DEVICE(api.record(device::cuda::event_type{}, stream));
    NO_DEVICE(api.wait(stream, device::cuda::event_type{}));
    NO_DEVICE(api.query(device::cuda::event_type{}));
    NO_DEVICE(api.synchronize(device::cuda::event_type{}));
    NO_DEVICE(api.copy_async(bytes, bytes + 32, 32, stream));
    NO_DEVICE(api.copy_peer_async(bytes, first, bytes + 32, first, 32, stream));
    NO_DEVICE(api.fill_async(bytes, 1, 64, stream));
    NO_DEVICE(api.device_count());
    NO_DEVICE(api.properties_of(first));
    NO_DEVICE(api.memory_of(first));
    NO_DEVICE(api.can_access_peer(first, {1}));
    NO_DEVICE(api.enable_peer(first, {1}));
    NO_DEVICE(api.capturing(stream));
    NO_DEVICE(api.exchange_capture_mode(device::capture_mode::relaxed));
    NO_DEVICE(api.begin_capture(stream, device::capture_mode::global));
    NO_DEVICE(api.end_capture(stream));
    NO_DEVICE(api.launch_graph(device::cuda::graph_type{}, stream));
    NO_DEVICE(api.destroy_graph(device::cuda::graph_type{}));
    std::printf("no device (code %d), and %s\n", api.device_count().error().native,
                wrong == 0 ? "every call says so" : "not every call says so");
    return wrong;
}

} // namespace

int main() {
    const device::cuda api{};
    const auto devices = api.device_count();
    if (!devices || *devices == 0) return without_a_device() == 0 ? 0 : 1;
    for (int i = 0; i != *devices; ++i) {
        const int found = conform::device_api{api, {i}}.run();
        std::printf("device %d (%s): %d wrong answers\n", i, api.properties_of({i}).value_or({}).name, found);
        wrong += found;
    }
    return wrong == 0 ? 0 : 1;
}
