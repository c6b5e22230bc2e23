// Rows by their address alone: link, release and questions, whoever allocated them.
//
// An address outside every arena (null, a constant, another allocator's memory) links and releases as nothing.
// Cost: two loads to the arena, one to the page, one indirect call; a manager or handle that knows its rows is
// faster. Threads: any; each link must be held by its caller. Source: HPCC roxiemem's ReleaseRoxieRow, 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/page/arena_base.hpp>
#include <allot/page/arena_table.hpp>
#include <allot/row/row_ops.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The same where the page is not taken, or its header does not stand in it.
ALLOT_NOINLINE inline page_header* out_of_band_page_of_row(const arena_base& arena, const void* address) noexcept {
    if (arena.headers_out_of_band())
        if (page_header* const page = out_of_band_header_at(arena.view(), address);
            page != nullptr && page->ops != nullptr)
            return page;
    report_misuse({.kind = misuse::foreign_pointer, .set = arena.name(), .heap = "", .type = "", .address = address});
    return nullptr;
}
// The page of a row of an arena; null, and told, for an address in it that is no row.
inline page_header* page_of_row(const arena_base& arena, const void* address) noexcept {
    auto* const page = reinterpret_cast<page_header*>(page_of(address, arena.page_mask()));
    if (ALLOT_UNLIKELY(!arena.has_header(page) || page->ops == nullptr)) return out_of_band_page_of_row(arena, address);
    return page;
}
// The page of a row, or null for an address outside every arena.
inline page_header* page_of_row(const void* address) noexcept {
    const arena_base* const arena = arena_at(address);
    return arena != nullptr ? page_of_row(*arena, address) : nullptr;
}
// The compiler forgets what the address points to: that it may be a constant, in front of which nothing lies, would be
// warned of, though no such row is looked at.
ALLOT_ALWAYS_INLINE std::byte* opaque_bytes(const void* row) noexcept {
    auto* at = const_cast<std::byte*>(static_cast<const std::byte*>(row));
    ALLOT_FORGET(at);
    return at;
}

// For who knows the arena: also in a library that has a table of arenas of its own.
inline void link_in(const arena_base& arena, const void* row) noexcept {
    if (page_header* const page = page_of_row(arena, row)) page->ops->link(*page, opaque_bytes(row));
}
ALLOT_NOINLINE inline void release_in(const arena_base& arena, const void* row) noexcept {
    if (page_header* const page = page_of_row(arena, row)) page->ops->release(*page, opaque_bytes(row));
}

} // namespace detail

// One more holder of the row.
inline void link(const void* row) noexcept {
    if (page_header* const page = detail::page_of_row(row)) page->ops->link(*page, detail::opaque_bytes(row));
}
// One holder fewer; the last one runs the row's destructor (if it was finalized) and frees it. Never waits.
ALLOT_NOINLINE inline void release(const void* row) noexcept {
    if (page_header* const page = detail::page_of_row(row)) page->ops->release(*page, detail::opaque_bytes(row));
}
// Whether another holder may exist. Always true for an address outside every arena: it must not be changed.
inline bool is_shared(const void* row) noexcept {
    page_header* const page = detail::page_of_row(row);
    return page == nullptr || page->ops->is_shared(*page, detail::opaque_bytes(row));
}
// Bytes the row may use; 0 for an address outside every arena.
inline std::size_t capacity(const void* row) noexcept {
    page_header* const page = detail::page_of_row(row);
    return page == nullptr ? 0 : page->ops->capacity(*page, detail::opaque_bytes(row));
}
// Declares the row constructed: its type's destructor runs at the last release.
inline void finalize(void* row) noexcept {
    if (page_header* const page = detail::page_of_row(row)) page->ops->finalize(*page, detail::opaque_bytes(row));
}
// Writes the check of a row whose type has one: until its last release the row is not changed, or sealed anew after
// each change. By its only holder. Nothing for rows without link counts.
inline void seal(void* row) noexcept {
    if (page_header* const page = detail::page_of_row(row)) page->ops->seal(*page, detail::opaque_bytes(row));
}
// Whether a row is what it was when it was sealed (if it was), and nothing wrote behind it (under guard::canary);
// damage is told. True for an address outside every arena.
inline bool check(const void* row) noexcept {
    page_header* const page = detail::page_of_row(row);
    return page == nullptr || page->ops->check(*page, detail::opaque_bytes(row));
}

} // namespace allot::inline ALLOT_ABI
