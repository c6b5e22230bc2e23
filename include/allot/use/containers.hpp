// use::containers: a set for containers of the standard library, through adapt/pmr.hpp or adapt/std_allocator.hpp.
//
//     allot::row_manager<allot::use::containers> rows{allot::limit{1_GiB}};
//     allot::adapt::memory_resource memory{rows};
//     std::pmr::vector<int> numbers{&memory};
//
// A container frees each allocation once, so no links are counted and no row has a header: 64 bytes take 64. Caches are
// per thread.
// Charged for each of many rows of a size: at most 12.5 % more, from 64 bytes to 64 KiB, with the headers of pages. The
// first row of a size class charges a page of 64 KiB; above 6 KiB a span of 64 to 576 KiB, and its rows take 160
// instructions more per pair. Under a limit below 32 MiB, and for rows aligned to 32 and more, there are no spans: 16
// KiB take 33 % more, 32 KiB twice as much. A request of more than a page takes whole pages; for many of those take a
// chunk_arena with larger chunks.
#pragma once

#include <allot/core/policies.hpp>
#include <allot/page/mapped.hpp>
#include <allot/row/row_manager.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace use {

/// Policies for a row_manager.
struct containers : policies<size::in_spans, count::none, heap::per_thread,
                             page::mapped<page::mapped_options{.page = std::size_t{64} << 10}>> {};

} // namespace use
} // namespace allot::inline ALLOT_ABI
