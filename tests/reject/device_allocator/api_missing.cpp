// expected-error {{this set needs a constructor argument that is missing}} {{device_allocator}} {{task_memory}}
// {{device::simulated}}
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>

struct task_memory : allot::policies<allot::page::on_device<allot::device::simulated>> {};

int main() {
    allot::device::simulator sim;
#if WRONG
    allot::device_allocator<task_memory> gpu{allot::device_id{0}};
#else
    allot::device_allocator<task_memory> gpu{allot::device_id{0}, allot::device::simulated{sim}};
#endif
}
