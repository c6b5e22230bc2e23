// use::roxie: for a query server: many small rows of many types, long lived, any number of threads.
//
// The size classes of Roxie; free slots found out of band, so that churn at any occupancy stays in the cache.
#pragma once

#include <allot/core/policies.hpp>
#include <allot/row/row_manager.hpp>

namespace allot::inline ALLOT_ABI {
namespace use {

struct roxie : policies<size::bucketed<size::list::roxie>, slots::bitmap, heap::shared, count::links> {};

} // namespace use
} // namespace allot::inline ALLOT_ABI
