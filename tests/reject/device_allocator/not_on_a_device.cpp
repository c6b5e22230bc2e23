// expected-error {{a device_allocator needs page::on_device<Api>}} {{task_memory}}
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>

#if WRONG
struct task_memory : allot::policies<allot::fit::best, allot::order::host> {};
#else
struct task_memory : allot::policies<allot::fit::best, allot::page::on_device<allot::device::simulated>> {};
#endif

int main() {
    allot::device::simulator sim;
    allot::device::simulated api{sim};
    allot::device_allocator<task_memory> gpu{api, allot::limit{1 << 20}};
    gpu.deallocate(gpu.allocate(8, api.legacy_stream()), api.legacy_stream());
    return static_cast<int>(gpu.trim());
}
