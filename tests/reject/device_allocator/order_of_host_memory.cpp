// expected-error {{a policy needs a property that no policy of the set provides}} {{task_memory}} {{order::stream}}
// {{device_accessible}}
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <allot/page/mapped.hpp>

#if WRONG
struct task_memory : allot::policies<allot::order::stream, allot::page::mapped<>> {};
#else
struct task_memory : allot::policies<allot::order::stream, allot::page::on_device<allot::device::simulated>> {};
#endif

int main() {
    allot::device::simulator sim;
    allot::device::simulated api{sim};
    allot::device_allocator<task_memory> gpu{api};
    gpu.release_captured(api.legacy_stream());
}
