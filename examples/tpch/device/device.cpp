#include "device.hpp"

#include <memory>

namespace tpch {

std::unique_ptr<device_side> open_device(const std::string& name, std::size_t memory, engine& in) {
    if (name == "simulated") return devices::simulated(memory, in);
    if (name == "cuda") return devices::cuda(memory, in);
    return nullptr;
}

} // namespace tpch
