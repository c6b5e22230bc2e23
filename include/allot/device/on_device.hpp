// page::on_device<Api>: pages in the memory of one device, through a model of device::api. Kernels may use it; the host
// must not. Cost: none at run time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/category/page.hpp>
#include <allot/device/api.hpp>

#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace page {

/// Pages of a device's memory. Constructors take a device_id (0), and the api's value unless Api is an empty type.
template <class Api> struct on_device {
    static_assert(allot::device::api<Api>,
                  "allot: the argument of page::on_device must be a model of device::api, such as device::cuda");
    using category = allot::category::page;
    using needs = types<>;
    using provides = types<property::device_accessible, property::movable>;
    using api = Api;
    static constexpr std::string_view about =
        "a device's memory, mapped into one reserved range if the device supports virtual memory";
    static constexpr std::string_view cost = "driver calls when memory grows or is returned";
};

} // namespace page
} // namespace allot::inline ALLOT_ABI
