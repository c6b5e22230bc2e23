// expected-error {{a policy needs a property that no policy of the set provides}} {{gpu_rows}} {{slots::linked}}
// {{host_accessible}}
#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>

using there = allot::page::on_device<allot::device::simulated>;
#if WRONG
struct gpu_rows : allot::policies<there, allot::slots::linked> {};
#else
struct gpu_rows : allot::policies<there, allot::slots::bitmap> {};
#endif

int main() {
    allot::device::simulator gpu;
    allot::row_manager<gpu_rows> rows{allot::device::simulated{gpu}};
    rows.link(rows.allocate(8));
}
