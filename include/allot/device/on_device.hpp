// page::on_device<Api>: memory of one device, through a model of device::api.
//
// Kernels may use it, the host may not. The api's value is given at construction where it is no empty type, and which
// device by a device_id (the first one unless told). Cost: none at run time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/category/page.hpp>
#include <allot/device/api.hpp>

#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace page {

template <class Api> struct on_device {
    static_assert(allot::device::api<Api>, "allot: page::on_device is given a model of device::api");
    using category = allot::category::page;
    using needs = types<>;
    using provides = types<property::device_accessible>;
    using api = Api;
    static constexpr std::string_view about = "a device's memory, mapped into one reserved range where the device can";
    static constexpr std::string_view cost = "driver calls where it grows and gives back";
};

} // namespace page
} // namespace allot::inline ALLOT_ABI
