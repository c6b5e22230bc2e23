// use::thor: a set for batch work: tables with rows of few types, one thread per heap, packed.
//
// A heap of one size is packed: rows of one type, rounded to 4 bytes, with a link count of 4 bytes in front. Rows of
// any size use the list `fine`, which wastes less than Thor's own. Free slots are found in address order, by bits out
// of band: slots::scanning, which marks them in place as Thor does, takes twice the instructions (bench/NOTES.md). Each
// thread keeps a few.
// Source: Thor's default, packed heaps (HPCC thorlcr, 2014).
#pragma once

#include <allot/core/policies.hpp>
#include <allot/row/row_manager.hpp>

namespace allot::inline ALLOT_ABI {
namespace use {

/// Policies for a row_manager.
struct thor : policies<size::packed, slots::bitmap, heap::per_thread, count::links> {};

} // namespace use
} // namespace allot::inline ALLOT_ABI
