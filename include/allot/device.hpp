// Umbrella header of the target `allot_device`: the seam of devices and the simulated one, the device allocator, rows
// in a device's memory, what kernels use, and the memory of PyTorch. It needs the target `allot`.
//
// Headers of CUDA are not included here: include allot/device/cuda.hpp, allot/adapt/cuda_mr.hpp or
// allot/adapt/thrust_mr.hpp beside it. A store for a device's buffers needs allot_engine, too:
// allot/spill/stored_device.hpp.
#pragma once

#include <allot/adapt/torch_pluggable.hpp>
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <allot/device_rows.hpp>
#include <allot/kernel/aggregated_fetch_add.hpp>
#include <allot/kernel/lanes_simulated.hpp>
#include <allot/kernel/lanes_warp.hpp>
#include <allot/report/device.hpp>
