// device_id: the number of a device, a type of its own so that constructors take it in any order.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {

/// The number of a device, from 0, as the api counts them.
struct device_id {
    int index = 0;

    friend constexpr bool operator==(device_id, device_id) noexcept = default;
};

} // namespace allot::inline ALLOT_ABI
