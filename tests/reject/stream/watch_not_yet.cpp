// expected-error {{a device_allocator does not act on this policy yet}} {{task_memory}} {{retain::idle}}
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <allot/sys/clock.hpp>

using namespace allot::literals;
#if WRONG
struct task_memory : allot::policies<allot::retain::idle<10_s>, allot::page::on_device<allot::device::simulated>> {};
#else
struct task_memory : allot::policies<allot::retain::on_call, allot::page::on_device<allot::device::simulated>> {};
#endif

int main() {
    allot::device::simulator sim;
    allot::device_allocator<task_memory> gpu{allot::device::simulated{sim}};
    gpu.trim();
}
