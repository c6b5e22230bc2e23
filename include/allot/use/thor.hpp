// use::thor: for batch work: whole tables of rows of few types, one thread a heap, packed.
//
// Thor's finer size classes for rows of any size; rows of one size are packed to 4 bytes; each thread keeps its own
// free slots.
#pragma once

#include <allot/core/policies.hpp>
#include <allot/row/row_manager.hpp>

namespace allot::inline ALLOT_ABI {
namespace use {

struct thor : policies<size::bucketed<size::list::thor>, slots::bitmap, heap::per_thread, count::links> {};

} // namespace use
} // namespace allot::inline ALLOT_ABI
