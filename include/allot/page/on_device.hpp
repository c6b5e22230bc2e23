// page::on_device<Api> for arenas and row managers: the policy, and what makes ranges of a device's memory.
#pragma once

#include <allot/device/on_device.hpp>
#include <allot/page/device_range.hpp>
