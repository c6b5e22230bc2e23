// Rows in a device's memory: the row manager over page::on_device<Api>, rows_view for kernels, and rows_in_flight.
//
// Include the api beside it: allot/device/cuda.hpp or allot/device/simulated.hpp.
#pragma once

#include <allot/page/on_device.hpp>
#include <allot/row/device/rows_in_flight.hpp>
#include <allot/row/device/rows_view.hpp>
#include <allot/row_manager.hpp>
