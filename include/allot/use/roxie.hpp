// use::roxie: a set for a query server: many small, long-lived rows of many types, any number of threads.
//
// The size classes of HPCC's Roxie; free slots are found out of band, so that churn at any occupancy stays in the
// cache.
#pragma once

#include <allot/core/policies.hpp>
#include <allot/row/row_manager.hpp>

namespace allot::inline ALLOT_ABI {
namespace use {

/// Policies for a row_manager.
struct roxie : policies<size::bucketed<size::list::roxie>, slots::bitmap, heap::per_thread, count::links> {};

} // namespace use
} // namespace allot::inline ALLOT_ABI
