// expected-error {{make}} {{host_touches_rows}}
// nvcc-says-no {{host_touches_rows}}
#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>

struct gpu_rows : allot::policies<allot::page::on_device<allot::device::simulated>> {};

int main() {
    allot::device::simulator gpu;
    allot::row_manager<gpu_rows> rows{allot::device::simulated{gpu}};
#if WRONG
    rows.make<int>(7); // the host would write it
#else
    rows.release(rows.allocate(sizeof(int)));
#endif
}
