// Everything for blocks of a device's memory: the allocator, where its memory comes from, and units for its limits. The
// api is included by itself: allot/device/cuda.hpp, allot/device/simulated.hpp.
#pragma once

#include <allot/core/describe.hpp>
#include <allot/core/units.hpp>
#include <allot/device/on_device.hpp>
#include <allot/device_allocator/device_allocator.hpp>
#include <allot/fit/best.hpp>
