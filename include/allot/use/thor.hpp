// use::thor: for batch work: whole tables of rows of few types, one thread a heap, packed.
//
// A heap of one size is packed: rows of one type, rounded to 4 bytes, a link count of 4 in front. Rows of any size go
// by the list `fine`, which wastes less than Thor's own. Free slots are marked, and found in the order of addresses;
// each thread keeps its own few.
// Source: Thor's default, packed scanning heaps (HPCC thorlcr, 2014).
#pragma once

#include <allot/core/policies.hpp>
#include <allot/row/row_manager.hpp>

namespace allot::inline ALLOT_ABI {
namespace use {

struct thor : policies<size::packed, slots::scanning, heap::per_thread, count::links> {};

} // namespace use
} // namespace allot::inline ALLOT_ABI
