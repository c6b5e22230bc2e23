// Free functions on a row of any manager, found by the row's address.
//
// An address outside every arena (null, a constant, memory of another allocator) is ignored by all of them.
// Cost: two loads for the arena, one for the page header, one indirect call; a manager or a handle is faster.
// Threads: any that holds a link of the row. Source: HPCC roxiemem's ReleaseRoxieRow, 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/page/arena_table.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/row/row_ops.hpp>
#include <allot/sys/lock_rank.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

ALLOT_COLD inline page_header* no_page_of_row(const page_arena& arena, const void* address) noexcept {
    report_misuse({.kind = misuse::not_a_row, .address = address, .arena = arena.name()});
    return nullptr;
}
// The page of a row of this arena, by the page map: the page itself may hold anything, as a later page of a huge row
// does. For an address in no page of rows: what `none` returns.
template <class None>
ALLOT_ALWAYS_INLINE page_header* page_of_row(const page_arena& arena, const void* address, None none) noexcept {
    const void* const owner = arena.owner_of(address);
    if (ALLOT_UNLIKELY(is_out_of_band(owner)))
        return static_cast<page_header*>(const_cast<void*>(header_of_word(owner)));
    if (ALLOT_UNLIKELY(owner == nullptr)) return none();
    auto* const page = reinterpret_cast<page_header*>(page_of(address, arena.page_mask()));
    if (page == nullptr) __builtin_unreachable(); // so that no caller tests it
    return page;
}
// The same; null for such an address, which is reported as misuse.
inline page_header* page_of_row(const page_arena& arena, const void* address) noexcept {
    return page_of_row(arena, address, [&]() noexcept { return no_page_of_row(arena, address); });
}
// Checked builds: whether memory in front of the address may be read, as the count of a row. If not, it is reported.
inline bool is_behind_header(const page_arena& arena, const void* address) noexcept {
    page_header* const page = page_of_row(arena, address);
    if (page == nullptr || is_out_of_band(arena.owner_of(address))) return page != nullptr;
    const auto* const at = static_cast<const std::byte*>(address);
    if (static_cast<std::size_t>(at - reinterpret_cast<std::byte*>(page)) >= sizeof(page_header)) return true;
    report_misuse({.kind = misuse::interior_pointer, .address = address, .arena = arena.name()});
    return false;
}
// The page of a row; null for an address outside every arena.
inline page_header* page_of_row(const void* address) noexcept {
    const page_arena* const arena = arena_at(address);
    return arena != nullptr ? page_of_row(*arena, address) : nullptr;
}
// Hides from the compiler what the address points to. It would warn of the count in front of a constant, which is never
// read.
ALLOT_ALWAYS_INLINE std::byte* opaque_bytes(const void* row) noexcept {
    auto* at = const_cast<std::byte*>(static_cast<const std::byte*>(row));
    ALLOT_FORGET(at);
    return at;
}

// As link() and release() for a row of a known arena. Work also where this library does not share the table of arenas.
inline void link_in(const page_arena& arena, const void* row) noexcept {
    if (page_header* const page = page_of_row(arena, row)) page->ops->link(*page, opaque_bytes(row));
}
ALLOT_NOINLINE inline void release_in(const page_arena& arena, const void* row) noexcept {
    if (page_header* const page = page_of_row(arena, row)) page->ops->release(*page, opaque_bytes(row));
}

} // namespace detail

/// Adds a link to the row. No effect on rows without link counts.
/// Requires: the caller holds a link. With more than 983,039 links the row is never freed, and the damage sink gets
/// too_many_links once.
inline void link(const void* row) noexcept {
    detail::check_no_lock_is_held("links a row");
    if (detail::page_header* const page = detail::page_of_row(row)) page->ops->link(*page, detail::opaque_bytes(row));
}
/// Releases one link; the last release calls the row's destructor (if it was finalized) and frees it. Never waits.
/// Requires: the caller holds a link. An address in an arena that is no row is reported as misuse in checked builds.
ALLOT_OUTLINE void release(const void* row) noexcept {
    detail::check_no_lock_is_held("releases a row");
    if (detail::page_header* const page = detail::page_of_row(row))
        page->ops->release(*page, detail::opaque_bytes(row));
}
/// Returns: true if the row may have another link, and for an address outside every arena: do not change such a row.
inline bool is_shared(const void* row) noexcept {
    detail::page_header* const page = detail::page_of_row(row);
    return page == nullptr || page->ops->is_shared(*page, detail::opaque_bytes(row));
}
/// Returns: bytes that the row may use, without its type's checksum; 0 for an address outside every arena.
ALLOT_OUTLINE_WARM std::size_t capacity(const void* row) noexcept {
    detail::page_header* const page = detail::page_of_row(row);
    return page == nullptr ? 0 : page->ops->capacity(*page, detail::opaque_bytes(row));
}
/// Marks the row as constructed: the last release calls its type's `destroy`, if it has one.
/// Requires: rows in host memory; otherwise reported as misuse in checked builds.
inline void finalize(void* row) noexcept {
    if (detail::page_header* const page = detail::page_of_row(row))
        page->ops->finalize(*page, detail::opaque_bytes(row));
}
/// Writes the check of a row whose type has one. Seal again after each change. No effect on rows without link counts.
/// Requires: the caller holds the only link; rows in host memory, otherwise reported as misuse in checked builds.
inline void seal(void* row) noexcept {
    if (detail::page_header* const page = detail::page_of_row(row)) page->ops->seal(*page, detail::opaque_bytes(row));
}
/// Compares a sealed row with its checksum, and the bytes behind it with the canary (guard::canary).
/// Effects: reports damage to the damage_sink. Returns: true without damage, and outside every arena.
inline bool check(const void* row) noexcept {
    detail::page_header* const page = detail::page_of_row(row);
    return page == nullptr || page->ops->check(*page, detail::opaque_bytes(row));
}

} // namespace allot::inline ALLOT_ABI
