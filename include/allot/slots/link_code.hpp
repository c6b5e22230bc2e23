// How a link between free slots is stored in a row: plain, or encoded with the heap's secret and the row's address.
//
//   stored = (next ^ low 32 bits of the row's address ^ secret) * odd constant
//
// Each decoded link is checked against the page's geometry before it is followed. The multiplication spreads a changed
// byte upwards, and valid offsets have an upper byte of 0: a link with one changed byte passes the check with a
// probability below 1/256, a random word with capacity / 2^32.
// Cost: 3 instructions per link written, 3 per link read, 6 per check; 16 bytes per heaplet.
// Threads: read and written by any; `broken` by the holder of the heap's lock.
// Source: CONFIG_SLAB_FREELIST_HARDENED, Linux 2017; divisibility by one multiplication, Granlund and Montgomery 1994.
#pragma once

#include <allot/config.hpp>
#include <allot/slots/geometry.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct plain_links {
    static constexpr bool checks = false;
    static constexpr std::uint32_t write(const std::byte*, std::uint32_t next) noexcept { return next; }
    static constexpr std::uint32_t read(const std::byte*, std::uint32_t word) noexcept { return word; }
};

// The inverse of an odd number modulo 2^32.
constexpr std::uint32_t inverse_of(std::uint32_t odd) noexcept {
    std::uint32_t x = odd; // correct in 3 bits; each step doubles them
    for (int i = 0; i < 4; ++i) x *= 2 - odd * x;
    return x;
}

struct encoded_links {
    static constexpr bool checks = true;
    static constexpr std::uint32_t factor = 0x9E3779B1u;
    static constexpr std::uint32_t inverse_factor = inverse_of(factor);
    static_assert(factor * inverse_factor == 1);

    encoded_links() = default;
    encoded_links(std::uint32_t the_secret, const slot_geometry& cut) noexcept
        : secret(the_secret), shift(static_cast<std::uint32_t>(std::countr_zero(cut.stride))),
          inverse(inverse_of(cut.stride >> shift)) {}

    std::uint32_t write(const std::byte* row, std::uint32_t next) const noexcept {
        return (next ^ low(row) ^ secret) * factor;
    }
    std::uint32_t read(const std::byte* row, std::uint32_t word) const noexcept {
        return word * inverse_factor ^ low(row) ^ secret;
    }
    // True if a link is the offset of a row of the page, or 0, which ends the list.
    bool is_valid(std::uint32_t next, const slot_geometry& cut) const noexcept {
        const std::uint32_t index = std::rotr((next - cut.first) * inverse, static_cast<int>(shift));
        return index < cut.capacity || next == 0;
    }

    std::uint32_t secret = 0;
    std::uint32_t shift = 0;   // log2 of the largest power of two that divides the stride
    std::uint32_t inverse = 0; // of the stride's odd part, modulo 2^32
    std::uint32_t broken = 0;  // offset of the row with an invalid link; 0: none

  private:
    static std::uint32_t low(const std::byte* row) noexcept {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(row));
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
