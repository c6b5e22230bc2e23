// expected-error {{a device_allocator needs a fit that tags free runs with their stream: use fit::best}}
// {{task_memory}} {{fit::buddy}}
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <allot/fit/buddy.hpp>

#if WRONG
struct task_memory : allot::policies<allot::fit::buddy, allot::page::on_device<allot::device::simulated>> {};
#else
struct task_memory : allot::policies<allot::fit::best, allot::page::on_device<allot::device::simulated>> {};
#endif

int main() {
    allot::device::simulator sim;
    allot::device_allocator<task_memory> gpu{allot::device::simulated{sim}};
    gpu.trim();
}
