// Memory of a device that is new where it is mapped: created, mapped, usable by its device, and known by its address
// alone.
//
// Its handle is released at once: what is mapped lives on until it is unmapped.
// Invariant: a failure leaves nothing behind, neither mapped nor created; where the device refuses to take the handle,
// it is asked once more without the mapping. Cost: four driver calls. Threads: as the api's; one for an address.
// Source: CUDA's driver, virtual memory management, 2019 (CUDA 10.2).
#pragma once

#include <allot/config.hpp>
#include <allot/device/api.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// `at` lies in reserved addresses where nothing is mapped; `bytes` is a multiple of the granularity. The error is that
/// of the step that failed.
template <class Api> device::result<> map_new(const Api& api, device_id device, void* at, std::size_t bytes) noexcept {
    const auto memory = api.create(device, bytes);
    if (!memory) return memory.error();
    const auto mapped = api.map(at, *memory, bytes);
    auto done = mapped;
    if (done) done = api.set_access(at, bytes, device, device::access::read_write);
    const auto released = api.release(*memory);
    if (done) done = released;
    if (mapped && !done) (void)api.unmap(at, bytes);
    if (!released) (void)api.release(*memory); // once more, without the mapping
    return done;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
