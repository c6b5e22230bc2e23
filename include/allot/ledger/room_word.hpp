// The room that an account has taken ahead of its charges, as one word that charges and refunds change by one
// compare-and-swap.
//
//   63 .......... 32  31      30 ......... 0
//   spare             closed  room                 bytes, both below 2^31
//
// `spare` is what the room has more than its least since the account's grant last changed: grant - (room - spare) is
// the most that was charged meanwhile, so a peak is exact without a second word. A charge within `spare` is one
// subtraction, and its check one comparison. A closed room has none and serves no charge; what is refunded into it goes
// back with the next call that climbs.
// Invariant: spare <= room; 0 where it is closed. Cost: 8 bytes. Threads: any.
// Source: Velox's memory pools reserve ahead in steps under a lock, 2022; here the lock is left to who needs more.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct room_word {
    static constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    static constexpr std::uint64_t closed_bit = std::uint64_t{1} << 31;
    static constexpr std::uint64_t both = (std::uint64_t{1} << 32) + 1; // of spare and room

    std::uint64_t bits = closed_bit;

    static constexpr room_word of(std::size_t room, bool open) noexcept { return {room | (open ? 0 : closed_bit)}; }
    constexpr bool open() const noexcept { return (bits & closed_bit) == 0; }
    constexpr std::size_t room() const noexcept { return bits & most; }
    constexpr std::size_t spare() const noexcept { return bits >> 32; }
    constexpr std::size_t least() const noexcept { return room() - spare(); }
    // A charge that may be met from here alone.
    ALLOT_ALWAYS_INLINE constexpr bool serves(std::size_t bytes) const noexcept {
        return ALLOT_LIKELY(spare() >= bytes) || (open() && room() >= bytes);
    }
    ALLOT_ALWAYS_INLINE constexpr room_word taken(std::size_t bytes) const noexcept {
        if (ALLOT_LIKELY(spare() >= bytes)) return {bits - bytes * both};
        return of(room() - bytes, true);
    }
    // A refund that may stay here; `kept` is at most `most`.
    ALLOT_ALWAYS_INLINE constexpr bool keeps(std::size_t bytes, std::size_t kept) const noexcept {
        return bytes <= kept && (bits & UINT32_MAX) <= kept - bytes;
    }
    ALLOT_ALWAYS_INLINE constexpr room_word given(std::size_t bytes) const noexcept { return {bits + bytes * both}; }
    // The same where the room may be closed.
    constexpr room_word put(std::size_t bytes) const noexcept {
        return open() ? given(bytes) : room_word{bits + bytes};
    }
    // A new grant begins: the least is what there is.
    constexpr room_word anew() const noexcept { return of(room(), open()); }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
