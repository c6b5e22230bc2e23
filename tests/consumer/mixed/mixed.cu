// A CUDA source beside two C++ files that have the compiled library: blocks of the simulated device, charged to their
// account.
#include "mixed.hpp"

#include <allot/core/bits.hpp>
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>

struct device_blocks : allot::policies<allot::page::on_device<allot::device::simulated>, allot::ledger::tree> {};

__global__ void round_up(std::size_t* number) { *number = allot::detail::align_up(*number, std::size_t{64}); }

bool charges_a_block(allot::account& query) {
    allot::device::simulator machine;
    const allot::device::simulated api{machine};
    const std::size_t before = query.used();
    allot::device_allocator<device_blocks> gpu{allot::device_id{0}, query, api};
    void* const block = gpu.try_allocate(std::size_t{1} << 20, api.legacy_stream());
    const bool good = block != nullptr && query.used() >= before + (std::size_t{1} << 20);
    if (block != nullptr) gpu.deallocate(block, api.legacy_stream());
    return good;
}
