// Index header of the device allocator: the allocator, page::on_device, and units for limits. Include the api
// separately: allot/device/cuda.hpp or allot/device/simulated.hpp.
#pragma once

#include <allot/core/describe.hpp>
#include <allot/core/units.hpp>
#include <allot/device/on_device.hpp>
#include <allot/device_allocator/device_allocator.hpp>
#include <allot/fit/best.hpp>
