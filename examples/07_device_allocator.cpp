// Blocks of device memory in stream order: a stream reuses its freed memory at once, another stream after one event.
// The simulated device reports each use that is not ordered; with device::cuda the same code runs on a GPU.
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <cstdio>

using namespace allot::literals;
namespace device = allot::device;

struct task_memory : allot::policies<allot::page::on_device<device::simulated>, // or device::cuda
                                     allot::fit::best, allot::order::stream> {};

int main() {
    device::simulator sim;
    const device::simulated api{sim};
    const auto load = *api.create_stream({0}, device::stream_kind::non_blocking);
    const auto join = *api.create_stream({0}, device::stream_kind::non_blocking);
    {
        allot::device_allocator<task_memory> gpu{allot::device_id{0}, allot::limit{64_MiB}, allot::name{"tasks"}, api};
        for (int batch = 0; batch != 100; ++batch) {
            const auto stream = batch % 10 == 9 ? join : load;
            void* const rows = gpu.allocate(40_MiB, stream); // throws out_of_memory, with a report
            (void)sim.launch(stream, {}, {{rows, 40_MiB}}, nullptr, "a kernel");
            gpu.deallocate(rows, stream); // even before the kernel has started
        }
        char page[2048];
        allot::text_writer out{page};
        gpu.report(out);
        std::fputs(page, stdout);

        // Before a stream is destroyed, so that other streams can wait for its frees.
        gpu.leave(load);
        gpu.leave(join);
    }
    (void)api.destroy_stream(load);
    (void)api.destroy_stream(join);
    std::printf("%d hazards, %d leaks\n", static_cast<int>(sim.hazards()), static_cast<int>(sim.leaks()));
    return sim.hazards() == 0 && sim.leaks() == 0 ? 0 : 1;
}
