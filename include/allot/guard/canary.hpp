// A canary: 4 bytes behind each row that only a write past the row's end changes.
//
//   | header | row: what it may use ............ | canary 4 | header of the next
//
// Invariant: written when the slot is first used, and kept while rows come and go, so starting a row costs nothing. Its
// value is the low half of the row's offset from the arena's start, xor a secret of the heap; in checked builds, of a
// free slot of rows without a count, the complement: so a second release is seen.
// Cost: 4 bytes per slot, 4 per page and 4 per heap; nothing under guards without a canary. Threads: any.
// Source: StackGuard, Cowan 1998.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/poison.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Guard> inline constexpr bool has_canary = Guard::row_bytes != 0;

struct no_canary {};
struct canary {
    std::uint32_t secret = 0;

    // `room`: bytes from the row's start to its slot's end; the canary is the last 4 of them.
    ALLOT_ALWAYS_INLINE bool intact(const std::byte* row, std::size_t room, std::size_t in_arena) const noexcept {
        return found(row, room) == value(in_arena);
    }
    void write(std::byte* row, std::size_t room, std::size_t in_arena) const noexcept {
        put(row, room, value(in_arena));
    }
    bool is_marked(const std::byte* row, std::size_t room, std::size_t in_arena) const noexcept {
        return found(row, room) == ~value(in_arena);
    }
    void mark(std::byte* row, std::size_t room, std::size_t in_arena) const noexcept {
        put(row, room, ~value(in_arena));
    }

  private:
    ALLOT_ALWAYS_INLINE std::uint32_t value(std::size_t in_arena) const noexcept {
        return secret ^ static_cast<std::uint32_t>(in_arena);
    }
    ALLOT_ALWAYS_INLINE static std::uint32_t found(const std::byte* row, std::size_t room) noexcept {
        std::uint32_t word;
        sys::read_hidden(&word, row + room - sizeof word, sizeof word);
        return word;
    }
    static void put(std::byte* row, std::size_t room, std::uint32_t word) noexcept {
        sys::write_hidden(row + room - sizeof word, &word, sizeof word);
    }
};
// Kept in each page's header and in the heap.
template <class Guard> using page_canary = std::conditional_t<has_canary<Guard>, canary, no_canary>;

} // namespace detail
} // namespace allot::inline ALLOT_ABI
