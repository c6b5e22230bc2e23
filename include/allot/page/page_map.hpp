// The owner of each page of an arena: one word per page, out of band.
//
// The header of a page has the same fact, but headers lie a page apart, so they share one set of each cache, and with
// two dozen size classes a release would miss every time. Here eight pages share a cache line. Where a page's header is
// out of band, its word points to the header instead, and is marked (heap/header_location.hpp).
// Invariant: a page's word is the value that its owner set, and null after the page was given back.
// Cost: 8 bytes per page, in memory once used. Threads: any; an owner sets the word before other threads get memory of
// the page, which orders the two.
// Source: page maps as in tcmalloc, 2005; measured in bench/NOTES.md.
#pragma once

#include <allot/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

using page_owner = std::atomic<const void*>;

// A bit that is set in the word of a page whose header is out of band, which is the header's address, and in no other:
// other words are tags of heaps, whose low byte is less, or addresses of pages. The header's address does not have it.
inline constexpr std::uintptr_t out_of_band_mark = 128;

inline const void* word_of_header(const void* header) noexcept {
    return static_cast<const std::byte*>(header) + out_of_band_mark;
}
constexpr bool is_out_of_band(std::uintptr_t word) noexcept { return (word & out_of_band_mark) != 0; }
inline bool is_out_of_band(const void* word) noexcept { return is_out_of_band(reinterpret_cast<std::uintptr_t>(word)); }
// Requires is_out_of_band().
inline const void* header_of_word(const void* word) noexcept {
    return static_cast<const std::byte*>(word) - out_of_band_mark;
}

// The addresses of an arena, and the owners of its pages. A handle has a copy, which classifies an address in few
// instructions.
struct arena_bounds {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
    page_owner* owners = nullptr;
    std::uintptr_t page_mask = 0; // address & page_mask: the start of its page
    unsigned page_shift = 0;

    // Bytes from the arena's start; not less than `bytes` for an address outside.
    ALLOT_ALWAYS_INLINE std::size_t offset(const void* p) const noexcept {
        return reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(begin);
    }
    ALLOT_ALWAYS_INLINE bool contains(const void* p) const noexcept { return offset(p) < bytes; }
    // Requires an offset within the arena.
    const void* owner_at(std::size_t offset) const noexcept {
        return owners[offset >> page_shift].load(std::memory_order_acquire);
    }
    // The same as a number, for a caller that holds memory of the page.
    ALLOT_ALWAYS_INLINE std::uintptr_t tag_at(std::size_t offset) const noexcept {
        return reinterpret_cast<std::uintptr_t>(owners[offset >> page_shift].load(std::memory_order_relaxed));
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
