// page::on_device<Api> for arenas and row managers: the policy, and its range of device memory.
#pragma once

#include <allot/device/on_device.hpp>
#include <allot/page/device_range.hpp>
