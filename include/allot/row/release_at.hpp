// release_at(): drops one link of a row, where a place takes free slots: a bin, a handle's cache, or the heap itself.
//
// The order of the tests, for all places: the arena; other links or flags, by the count alone where it lies in front of
// every row; whether the row is of this place; one link and nothing else to do. Then the slot is pushed. The place has
//   core()                        the manager's row_core
//   one_type(page)                whether its heap has rows of one type
//   enter(page, row, in_arena)    whether the row is of its heap
//   push(page, row)               takes the slot, after enter()
//   release_entered(page, row)    after enter(), for a row of another heap, or one that release_slow() releases
//   release_slow(row)             for a shared row, or one with a destructor, seal, or guard
// Cost: about 15 instructions into a handle's cache. Threads: those of the place.
// Source: the count in front of a row is HPCC roxiemem's, 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/page/page_map.hpp>
#include <allot/row/row.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Policies, class Place>
ALLOT_ALWAYS_INLINE void release_at(const arena_bounds& arena, const void* row, Place place) noexcept {
    using rows = typename Policies::rows;
    const std::size_t in_arena = arena.offset(row);
    if (ALLOT_UNLIKELY(in_arena >= arena.bytes)) return place.core().release_foreign(row);
    if constexpr (ALLOT_CHECKED != 0)
        if (!is_behind_header(place.core().arena(), row)) return;
    std::byte* at = opaque_bytes(row);
    if constexpr (Policies::counts_first) {
        const auto word = rows::counting::word(at);
        const std::uint32_t now = word.load();
        if (ALLOT_UNLIKELY(now != word.sole_link)) {
            ALLOT_FORGET(at); // keeps the compiler from computing for this path on the common one
            if (!rows::counting::word(at).release_shared(now)) place.release_slow(at);
            return;
        }
    }
    auto& page = rows::page_at(arena, at);
    if (ALLOT_UNLIKELY(!place.enter(page, at, in_arena) || !rows::template release_if_sole<Policies::counts_first>(
                                                               page, at, place.one_type(page), in_arena)))
        return place.release_entered(page, at);
    place.push(page, at);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
