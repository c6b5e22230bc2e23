// With --device, query 1 adds up on a device. The same code is compiled for a GPU (cuda.cpp) and for the simulated
// device (simulated.cpp): adders.hpp.
//
//   device memory (limit) -- tpch    the blocks of all scan tasks: the columns of a chunk each, and its sums
//
// The limit is an account below the engine's arbiter. So where a task is refused memory of the device, it waits, begins
// again, or has its rows halved, as for the host's memory.
#pragma once

#include "../engine/engine.hpp"
#include "../queries/q1.hpp"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tpch {

struct device_outcome {
    std::string name; // empty: no device
    std::size_t limit = 0, peak = 0;
    std::uint64_t copied = 0;  // bytes to the device and back
    std::uint64_t hazards = 0; // uses of memory without an order that the simulated device found
};

class device_side {
  public:
    virtual ~device_side() = default;
    /// For one scan task of query 1; its memory is that of the device.
    /// Throws: what device_allocator::allocate throws; shared::device_error.
    /// Threads: any. Requires: the device outlives the result.
    virtual std::unique_ptr<q1::adder> q1_adder() = 0;
    virtual device_outcome outcome() = 0;
};

/// Null for the name "none". `memory`: bytes of the device for all queries.
/// Throws: shared::device_error where there is no such device. Requires: the engine outlives the result.
std::unique_ptr<device_side> open_device(const std::string& name, std::size_t memory, engine& in);

namespace devices { // each in the file with its name
std::unique_ptr<device_side> simulated(std::size_t memory, engine& in);
std::unique_ptr<device_side> cuda(std::size_t memory, engine& in);
} // namespace devices

} // namespace tpch
