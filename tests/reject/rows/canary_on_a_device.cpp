// expected-error {{a policy needs a property that no policy of the set provides}} {{gpu_rows}} {{guard::canary}}
// {{host_accessible}}
#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>

struct gpu_rows : allot::policies<allot::page::on_device<allot::device::simulated>> {};

int main() {
    allot::device::simulator gpu;
    allot::row_manager<gpu_rows> rows{allot::device::simulated{gpu}};
#if WRONG
    auto heap = rows.heap(allot::as<allot::heap::unique, allot::guard::canary>, 48);
#else
    auto heap = rows.heap(allot::as<allot::heap::unique, allot::guard::none>, 48);
#endif
    heap.release(heap.allocate());
}
