#include "device.hpp"

#include <memory>

namespace flights {

std::unique_ptr<device_side> open_device(const options& asked, const flight_chunks& from,
                                         std::pmr::memory_resource& memory) {
    if (asked.device == "simulated") return devices::simulated(asked, from, memory);
    if (asked.device == "cuda") return devices::cuda(asked, from, memory);
    return nullptr;
}

} // namespace flights
