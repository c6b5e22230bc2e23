// expected-error {{this set needs a constructor argument that is missing}} {{gpu_rows}} {{device::simulated}}
#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>

struct gpu_rows : allot::policies<allot::page::on_device<allot::device::simulated>> {};

int main() {
    allot::device::simulator gpu;
#if WRONG
    allot::row_manager<gpu_rows> rows{allot::device_id{0}};
#else
    allot::row_manager<gpu_rows> rows{allot::device::simulated{gpu}, allot::device_id{0}};
#endif
    rows.link(rows.allocate(8));
}
