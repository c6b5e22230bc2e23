// expected-error {{retain::idle would wait for the device at page requests}} {{gpu_rows}}
#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>

using namespace allot::literals;

using there = allot::page::on_device<allot::device::simulated>;
#if WRONG
struct gpu_rows : allot::policies<there, allot::retain::idle<1_s>> {};
#else
struct gpu_rows : allot::policies<there, allot::retain::on_call> {};
#endif

int main() {
    allot::device::simulator gpu;
    allot::arena<gpu_rows> pages{allot::device::simulated{gpu}};
    pages.give(pages.take(), 1);
}
