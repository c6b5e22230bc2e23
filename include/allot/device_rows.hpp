// Everything for rows in a device's memory: the row manager over page::on_device<Api>, what kernels get of its rows,
// and links that kernels hold. The api is included by itself: allot/device/cuda.hpp or allot/device/simulated.hpp.
#pragma once

#include <allot/page/on_device.hpp>
#include <allot/row/rows_in_flight.hpp>
#include <allot/row/rows_view.hpp>
#include <allot/row_manager.hpp>
