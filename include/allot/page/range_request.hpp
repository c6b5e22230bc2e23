// What an arena asks its page policy for, how much address space it gets, and how that is reserved.
//
// Cost: at an arena's construction only. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/category/page.hpp>
#include <allot/core/min_max.hpp>
#include <allot/page/arena_memory.hpp>
#include <allot/page/arena_range.hpp>
#include <allot/page/arena_table.hpp>
#include <allot/sys/map.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct range_request {
    std::size_t page_bytes = 0;    // 0: not specified
    std::size_t usual_page = 0;    // of the owner; 0: by the limit
    std::size_t reserve_bytes = 0; // 0: not specified
    std::size_t limit = SIZE_MAX;  // SIZE_MAX: none
    std::span<std::byte> lent{};

    // Whether huge OS pages, which are charged whole, are a small part of the limit: 32 of 2 MiB are in it.
    bool is_for_huge_pages() const noexcept { return limit >= std::size_t{64} << 20; }
};

// The page size of an arena that names none: the root of 32 times its limit, 16 KiB to 1 MiB; 64 KiB without a limit.
// Each size class in use wastes half a page, and each page the bytes behind its last row; their sum is least where the
// page grows with the root of the limit. Measured: bench/NOTES.md.
inline constexpr std::size_t page_size_by_limit(std::size_t limit) noexcept {
    if (limit == SIZE_MAX) return std::size_t{64} << 10;
    const std::size_t root = std::size_t{1} << ((log2_floor(max(limit, std::size_t{1})) + 5) / 2);
    return clamp(root, page::min_bytes, std::size_t{1} << 20);
}
// The page size requested; else the policy's, unless `named` is 0, but at most 1/128 of the limit, since each heap
// takes at least a page; else the owner's usual one; else that of the limit. A power of two within bounds, and at least
// a page of the system.
inline std::size_t page_size_for(const range_request& request, std::size_t named) noexcept {
    const std::size_t from = request.page_bytes != 0   ? request.page_bytes
                             : named != 0              ? min(named, request.limit / 128)
                             : request.usual_page != 0 ? request.usual_page
                                                       : page_size_by_limit(request.limit);
    const std::size_t least = max(page::min_bytes, sys::os_page_bytes());
    return clamp(std::size_t{1} << log2_floor(max(from, least)), least, page::max_bytes);
}

// The address space of a process.
inline constexpr std::size_t max_reserve_bytes = std::size_t{1} << 47;

// The address space of an arena that does not say how much: twice its limit, so that runs of pages find room beside
// single pages, but at most the memory, and less while many arenas are alive: half of an equal share of what they leave
// of 2^46 bytes, but at least 1 GiB. The share may be exceeded up to the limit, while they leave as much.
inline std::size_t default_reserve(std::size_t limit, std::size_t memory) noexcept {
    constexpr std::size_t for_all = max_reserve_bytes / 2, least = std::size_t{1} << 30;
    const arena_totals now = arenas.totals();
    const std::size_t left = for_all - min(now.reserved, for_all);
    const std::size_t share = max(left / 2 / (now.arenas + 1), least);
    const std::size_t wanted = limit < memory / 2 ? limit * 2 + page::max_bytes : memory;
    const std::size_t needed = limit != SIZE_MAX ? min(limit, memory) : 0;
    return min(wanted, max(share, min(needed, left)));
}

// Reserves whole granules of the arena table, aligned to `align`, and in front of them room for the arena's tables.
// Where that fails, the bytes alone, aligned to a page; where that fails, half as many bytes, and so on. `begin` is
// null where not even one page can be reserved. All of it can be read before it is committed: a stale address finds a
// link count of 0.
ALLOT_OUTLINE_WARM arena_range reserve_range(std::size_t page, std::size_t bytes, std::size_t align = 0) noexcept {
    arena_range range;
    range.page_shift = log2_floor(page);
    align = max(align, arena_table::granule_bytes);
    for (bytes = align_up(clamp(bytes, page, max_reserve_bytes), page);;
         bytes = align_up(bytes / 2, page), ++range.halved) {
        const std::size_t whole = align_up(bytes, arena_table::granule_bytes);
        range.bytes = bytes;
        range.mapping = whole;
        range.front = arena_tables::bytes(bytes >> range.page_shift);
        range.begin = sys::reserve(whole, align, range.front);
        if (range.begin != nullptr) return range;
        range.mapping = bytes;
        range.begin = sys::reserve(bytes, page, range.front);
        if (range.begin != nullptr || bytes == page) return range;
    }
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
