// Link-counted rows in a device's memory: the host allocates and releases them under a limit, kernels read them. On a
// simulated device, so no GPU is needed.
#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>
#include <cstdio>
#include <vector>

using namespace allot::literals;
namespace device = allot::device;

struct gpu_rows : allot::policies<allot::page::on_device<device::simulated>> {}; // or device::cuda

static std::uint64_t hazards_of(bool waits) {
    device::simulator sim{{.total_bytes = 64 << 20,
                           .execution = device::execution::delayed,
                           .seed = 42,
                           .sink = device::hazard_sink::quiet()}};
    const device::simulated api{sim};
    allot::row_manager<gpu_rows> rows{api, allot::limit{16_MiB}, allot::name{"orders"}};
    const device::simulated::stream_type streams[] = {*api.create_stream({0}, device::stream_kind::non_blocking),
                                                      *api.create_stream({0}, device::stream_kind::non_blocking)};
    long sum = 0;
    {
        allot::rows_in_flight lent{rows, api};
        for (int round = 0; round != 8; ++round) {
            const auto stream = streams[round % 2];
            const std::vector<void*> batch{rows.allocate(sizeof(long)), rows.allocate(sizeof(long))};
            for (void* row : batch) // a kernel that fills a row
                (void)sim.launch(stream, {}, {{row, sizeof(long)}}, [=] { *static_cast<long*>(row) = round; }, "fill");
            const auto view = lent.upload(stream, batch).value_or({});
            (void)sim.launch(
                stream, {{view.list, 16}, {batch[0], 8}, {batch[1], 8}}, {},
                [view, &sum] { view.for_each<long>(0, 1, [&](long value) { sum += value; }); }, "add up");
            (void)lent.release_list_after(stream, view);
            if (waits) (void)lent.release_after(stream, batch);
            else
                for (void* row : batch) rows.release(row); // the bug: kernels may still use the row
            lent.poll();
        }
    } // waits for the device
    for (const auto stream : streams) (void)api.destroy_stream(stream);
    std::printf("sum %ld, %d rows live, %d hazards\n", sum, static_cast<int>(rows.live_rows()),
                static_cast<int>(sim.hazards()));
    return sim.hazards();
}

int main() { return hazards_of(true) == 0 && hazards_of(false) != 0 ? 0 : 1; }
