// expected-error {{a policy needs a property that no policy of the set provides}} {{gpu_rows}} {{count::links}}
// {{host_accessible}}
#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>

using there = allot::page::on_device<allot::device::simulated>;
struct pages_there : allot::policies<there> {};
using shared = allot::arena<pages_there>;
#if WRONG
struct gpu_rows : allot::policies<allot::page::of<shared>, allot::count::links> {};
#else
struct gpu_rows : allot::policies<allot::page::of<shared>, allot::count::links_out_of_band> {};
#endif

int main() {
    allot::device::simulator gpu;
    shared pages{allot::device::simulated{gpu}};
    allot::row_manager<gpu_rows> rows{pages};
    rows.link(rows.allocate(8));
}
