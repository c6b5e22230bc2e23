// expected-error {{a device_allocator does not support this policy yet}} {{task_memory}} {{watch::peaks}}
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>

#if WRONG
struct task_memory : allot::policies<allot::watch::peaks, allot::page::on_device<allot::device::simulated>> {};
#else
struct task_memory : allot::policies<allot::watch::counters, allot::page::on_device<allot::device::simulated>> {};
#endif

int main() {
    allot::device::simulator sim;
    allot::device_allocator<task_memory> gpu{allot::device::simulated{sim}};
    gpu.trim();
}
