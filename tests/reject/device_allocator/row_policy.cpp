// expected-error {{this product does not read the category of a policy}} {{task_memory}} {{device_allocator}}
// {{slots::bitmap}}
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <allot/slots/bitmap.hpp>

#if WRONG
struct task_memory : allot::policies<allot::slots::bitmap, allot::page::on_device<allot::device::simulated>> {};
#else
struct task_memory : allot::policies<allot::page::on_device<allot::device::simulated>> {};
#endif

int main() {
    allot::device::simulator sim;
    allot::device::simulated api{sim};
    allot::device_allocator<task_memory> gpu{api};
    gpu.deallocate(gpu.try_allocate(8, api.legacy_stream()), api.legacy_stream());
    gpu.leave(api.legacy_stream());
}
