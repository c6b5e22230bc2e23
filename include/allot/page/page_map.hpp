// Who each page of an arena belongs to: a word a page, out of band.
//
// The header of a page tells the same, but all headers lie a page apart, so in one set of each cache: with two dozen
// size classes a release would miss every time. Eight pages' words share a line here. The word of a page whose header
// stands aside (heap/header_location.hpp) leads to that header instead.
// Invariant: a page's word is what its owner set, and null once it gave the page back.
// Cost: 8 bytes a page, in memory once it is used. Threads: any; a page's owner sets its word before others hold memory
// of the page, which orders them. Source: page maps as in tcmalloc, 2005; figures in bench/NOTES.md.
#pragma once

#include <allot/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

using page_owner = std::atomic<const void*>;

// What a handle keeps of its arena, to ask about an address in few instructions.
struct arena_view {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    const page_owner* owners = nullptr;
    std::uintptr_t page_mask = 0; // leaves the start of an address's page
    unsigned page_shift = 0;

    // Bytes from the arena's start: not less than `bytes` for an address outside.
    ALLOT_ALWAYS_INLINE std::size_t offset(const void* p) const noexcept {
        return reinterpret_cast<std::uintptr_t>(p) - begin;
    }
    ALLOT_ALWAYS_INLINE bool contains(const void* p) const noexcept { return offset(p) < bytes; }
    const void* owner_at(std::size_t offset) const noexcept {
        return owners[offset >> page_shift].load(std::memory_order_acquire);
    }
    // Whether an offset within lies in a page of this owner.
    ALLOT_ALWAYS_INLINE bool is_of(std::size_t offset, const void* owner) const noexcept {
        return owners[offset >> page_shift].load(std::memory_order_relaxed) == owner;
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
