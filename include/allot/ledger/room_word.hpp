// The room that an account has taken ahead of its charges, as one word that charges and refunds change by one compare-and-swap.
//
//   63     62 ........ 32  31 ......... 0
//   open   least room      room                 bytes, both below 2^31
//
// `least` is the least room since the account's grant last changed: grant - least is the most that was charged meanwhile, so a
// peak is exact without a second word. A closed room serves no charge; what is refunded into it goes back with the next call that climbs.
// Invariant: least <= room. Cost: 8 bytes. Threads: any.
// Source: Velox's memory pools reserve ahead in steps under a lock, 2022; here the lock is left to who needs more.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct room_word {
    static constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    static constexpr std::uint64_t open_bit = std::uint64_t{1} << 63;

    std::uint64_t bits = 0;

    static constexpr room_word of(std::size_t room, bool open) noexcept {
        return {(open ? open_bit : 0) | static_cast<std::uint64_t>(room) << 32 | room};
    }
    constexpr bool open() const noexcept { return (bits & open_bit) != 0; }
    constexpr std::size_t room() const noexcept { return static_cast<std::uint32_t>(bits); }
    constexpr std::size_t least() const noexcept { return bits >> 32 & most; }
    // A charge that may be met from here alone.
    ALLOT_ALWAYS_INLINE constexpr bool serves(std::size_t bytes) const noexcept { return open() && bytes <= room(); }
    ALLOT_ALWAYS_INLINE constexpr room_word taken(std::size_t bytes) const noexcept {
        const std::uint64_t now = room() - bytes, low = least() < now ? least() : now;
        return {(bits & open_bit) | low << 32 | now};
    }
    ALLOT_ALWAYS_INLINE constexpr room_word given(std::size_t bytes) const noexcept { return {bits + bytes}; }
    // A new grant begins: the least is what there is.
    constexpr room_word anew() const noexcept { return of(room(), open()); }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
