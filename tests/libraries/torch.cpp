// What a user of PyTorch writes (docs/torch.md), over a simulated machine with two devices: loaded by
// torch_program.cpp.
#include <allot/adapt/torch_pluggable.hpp>
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

#include <sys/types.h>

using namespace allot::literals;

namespace {

// oom::null, so that the face has to throw.
struct torch_memory : allot::policies<allot::page::on_device<allot::device::simulated>, allot::fit::best,
                                      allot::order::stream, allot::oom::null> {};

allot::device::simulator& machine() {
    static auto& sim = *new allot::device::simulator{{.devices = 2}};
    return sim;
}
allot::adapt::torch_pluggable<torch_memory>& memory() {
    static auto& all = *new allot::adapt::torch_pluggable<torch_memory>{[](allot::device_id d) {
        if (d.index == 3) return std::unique_ptr<allot::device_allocator<torch_memory>>{};
        return std::make_unique<allot::device_allocator<torch_memory>>(d, allot::limit{64_MiB}, allot::name{"torch"},
                                                                       allot::device::simulated{machine()});
    }};
    return all;
}
// Streams are pointers for PyTorch.
using stream = allot::device::simulated::stream_type;
stream of(void* p) { return {static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p))}; }

} // namespace

extern "C" {

void* torch_allocate(ssize_t bytes, int device, void* stream) { return memory().allocate(bytes, device, of(stream)); }
void torch_deallocate(void* p, ssize_t bytes, int device, void* stream) {
    memory().deallocate(p, bytes, device, of(stream));
}

// For the test.
void* test_stream(int device) {
    const allot::device::simulated api{machine()};
    return reinterpret_cast<void*>(
        std::uintptr_t{(*api.create_stream({device}, allot::device::stream_kind::non_blocking)).index});
}
void* test_per_thread_stream() {
    return reinterpret_cast<void*>(std::uintptr_t{allot::device::simulated::per_thread_stream().index});
}
void test_set_current(int device) { static_cast<void>(allot::device::simulated{machine()}.set_current({device})); }
int test_current() { return (*allot::device::simulated{machine()}.current()).index; }
// The next call that makes a device current fails.
void test_fail_set_current() { machine().fail(allot::device::call::set_current); }
// Writes the bytes in the stream's order: a use that is not ordered is a hazard.
int test_write(void* s, void* p, std::size_t bytes) {
    return machine().launch(of(s), {}, {{p, bytes}}, nullptr, "writer") ? 1 : 0;
}
std::size_t test_hazards() { return machine().hazards(); }
std::size_t test_live_blocks(int device) {
    auto* const used = memory().used(device);
    return used == nullptr ? 0 : used->stats().live_blocks;
}
}
