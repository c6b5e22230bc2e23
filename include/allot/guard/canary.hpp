// A canary: 4 bytes behind each row that only a write past the row's end changes.
//
//   | header | row: what it may use ............ | canary 4 | header of the next
//
// Invariant: written when the slot is first used, and kept while rows come and go, so starting a row costs nothing. Its
// value is the low half of the row's offset from the arena's start, xor a secret of the heap.
// Cost: 4 bytes per slot, 4 per page and 4 per heap; nothing under guards without a canary. Threads: any.
// Source: StackGuard, Cowan 1998.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

template <class Guard> inline constexpr bool has_canary = Guard::row_bytes != 0;

struct no_canary {};
struct canary {
    std::uint32_t secret = 0;

    // `room`: bytes from the row's start to its slot's end; the canary is the last 4 of them.
    ALLOT_ALWAYS_INLINE bool intact(const std::byte* row, std::size_t room, std::size_t in_arena) const noexcept {
        std::uint32_t found;
        std::memcpy(&found, row + room - sizeof found, sizeof found);
        return found == (secret ^ static_cast<std::uint32_t>(in_arena));
    }
    void write(std::byte* row, std::size_t room, std::size_t in_arena) const noexcept {
        const std::uint32_t word = secret ^ static_cast<std::uint32_t>(in_arena);
        std::memcpy(row + room - sizeof word, &word, sizeof word);
    }
};
// Kept in each page's header and in the heap.
template <class Guard> using page_canary = std::conditional_t<has_canary<Guard>, canary, no_canary>;

} // namespace allot::inline ALLOT_ABI
