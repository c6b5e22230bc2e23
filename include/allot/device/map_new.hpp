// Creates device memory, maps it, gives its device access, and releases the handle: unmapping the address frees the
// memory.
//
// Invariant: a failure leaves nothing mapped or created. If the release of the handle fails, the memory is unmapped and
// the release is tried once more.
// Cost: four driver calls. Threads: as the api's; one thread per address.
// Source: virtual memory management of the CUDA driver, 10.2 (2019).
#pragma once

#include <allot/config.hpp>
#include <allot/device/api.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Requires: `at` is reserved and nothing is mapped there; bytes is a multiple of the granularity.
// Returns the error of the first call that failed.
template <class Api> device::result<> map_new(const Api& api, device_id device, void* at, std::size_t bytes) noexcept {
    const auto memory = api.create(device, bytes);
    if (!memory) return memory.error();
    const auto mapped = api.map(at, *memory, bytes);
    auto done = mapped;
    if (done) done = api.set_access(at, bytes, device, device::access::read_write);
    const auto released = api.release(*memory);
    if (done) done = released;
    if (mapped && !done) (void)api.unmap(at, bytes);
    if (!released) (void)api.release(*memory); // retried without the mapping
    return done;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
