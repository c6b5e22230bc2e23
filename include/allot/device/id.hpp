// Which device: its number, from 0, as the api counts them. A strong type, so that constructors take it in any order.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {

struct device_id {
    int index = 0;

    friend constexpr bool operator==(device_id, device_id) noexcept = default;
};

} // namespace allot::inline ALLOT_ABI
