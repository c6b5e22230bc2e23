// What compaction may do, and what it did: rows of sparse pages move into few pages.
//
//     std::vector<void*> rows = ...;                    // all rows that may move, each once
//     allot::compaction done = manager.compact(rows);   // the vector has their new addresses
//
// Source: compactRows() of HPCC roxiemem, 2011; budgets, and a choice of pages that needs no memory, are new.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// Bounds of one compaction. The rest is left as it was, for a later call.
struct compaction_budget {
    std::size_t rows = SIZE_MAX;            ///< that are moved at most
    std::uint64_t nanoseconds = UINT64_MAX; ///< from the first move on; looked at every 16 rows; 0: no row moves
};

/// What a compaction did. Rows of the span: moved + kept + shared + pinned + ignored.
struct compaction {
    std::size_t moved = 0;   ///< rows that have a new address in the span
    std::size_t kept = 0;    ///< rows that could move, and lie where rows are to be, or beyond the budget
    std::size_t shared = 0;  ///< rows with several links
    std::size_t pinned = 0;  ///< huge and damaged rows, and rows whose type cannot move
    std::size_t ignored = 0; ///< null, rows that are not live, and rows of other managers
    std::size_t pages_before = 0, pages_after = 0; ///< of the heaps that have rows in the span
    /// Of pages_after: those with slots that rows outside of the span, shared or pinned rows, or caches of handles use.
    std::size_t pages_pinned = 0;
    std::size_t bytes_returned = 0; ///< to the arena, and refunded
};

namespace detail {

/// Whether a row may move.
enum class row_moves : std::uint8_t { yes, shared, pinned, not_live };

} // namespace detail
} // namespace allot::inline ALLOT_ABI
