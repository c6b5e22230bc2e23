// row_ops: table of functions on the rows of a page, for callers that know only an address.
//
// Every page header points to one, a constant per kind of heap. So a row_ptr is one word, and any caller can release.
// Cost: one indirect call. Threads: any.
// Source: HPCC roxiemem's HeapletBase virtual functions, 2009; a table, because the page is raw memory.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/page_header.hpp>
#include <allot/row/moving/compaction.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

class heap_base;

// What a resize asks of a row.
struct row_state {
    row_moves moves = row_moves::not_live; // pinned: its type cannot move
    bool is_of_other = false;              // manager; then it is not live
    bool constructed = false;
    bool sealed = false;
    bool may_be_damaged = false;    // it has a canary, or a seal
    std::size_t capacity = 0;       // as of row_manager
    const row_type* type = nullptr; // null: not known, bytes
    std::size_t align = 0;          // of its heap, or of its place in its pages
};

struct row_ops {
    void (*link)(page_header& page, std::byte* row) noexcept;
    void (*release)(page_header& page, std::byte* row) noexcept;
    bool (*is_shared)(page_header& page, std::byte* row) noexcept;
    std::size_t (*capacity)(page_header& page, std::byte* row) noexcept;
    void (*finalize)(page_header& page, std::byte* row) noexcept;
    void (*seal)(page_header& page, std::byte* row) noexcept;
    bool (*check)(page_header& page, std::byte* row) noexcept;
    // Compaction (row/moving/row_mover.hpp). `manager`: rows of others are taken for none.
    detail::row_moves (*mark)(page_header& page, std::byte* row, const void* manager) noexcept;
    heap_base* (*leaves)(page_header& page, std::byte* row, const void* manager) noexcept; // null: the row stays
    void (*move)(page_header& page, std::byte* row, std::byte* to) noexcept;
    // Resize (row/moving/resize.hpp).
    detail::row_state (*state)(page_header& page, std::byte* row, const void* manager) noexcept;
    // Before its release: what was in it is elsewhere, so it is no object any more, and has no seal. Null: huge rows.
    void (*leave)(page_header& page, std::byte* row) noexcept;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
