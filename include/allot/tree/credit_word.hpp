// The credit of a leaf: bytes granted and unused, in one word that a charge or refund changes by one compare-and-swap.
//
//   63 .......... 32  31      30 ......... 0
//   spare             closed  credit               bytes, both below 2^31
//
// `spare` is the credit less its minimum since the grant last changed (its low water). So grant - (credit - spare) is
// the most that was charged since then, and peaks are exact without a second word. A charge within `spare` is one
// comparison and one subtraction. A closed credit covers no charge and has no spare; bytes refunded into it return with
// the next request that takes the lock.
// Invariant: spare <= credit; spare is 0 if closed. Cost: 8 bytes. Threads: a value.
// Source: Velox's memory pools reserve in steps under a lock, 2022; here only larger requests take the lock.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct credit_word {
    static constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    static constexpr std::uint64_t closed_bit = std::uint64_t{1} << 31;
    static constexpr std::uint64_t both = (std::uint64_t{1} << 32) + 1; // adds to spare and credit

    std::uint64_t bits = closed_bit;

    static constexpr credit_word of(std::size_t credit, bool open) noexcept {
        return {credit | (open ? 0 : closed_bit)};
    }
    constexpr bool open() const noexcept { return (bits & closed_bit) == 0; }
    constexpr std::size_t credit() const noexcept { return bits & most; }
    constexpr std::size_t spare() const noexcept { return bits >> 32; }
    constexpr std::size_t low_water() const noexcept { return credit() - spare(); }
    // Whether the credit covers a charge.
    ALLOT_ALWAYS_INLINE constexpr bool covers(std::size_t bytes) const noexcept {
        return ALLOT_LIKELY(spare() >= bytes) || (open() && credit() >= bytes);
    }
    // Requires covers(bytes).
    ALLOT_ALWAYS_INLINE constexpr credit_word after_charge(std::size_t bytes) const noexcept {
        if (ALLOT_LIKELY(spare() >= bytes)) return {bits - bytes * both};
        return of(credit() - bytes, true);
    }
    // Whether a refund may stay as credit, of `kept` bytes at most; false if closed, whose bit makes the sum too large.
    // Requires kept <= most.
    ALLOT_ALWAYS_INLINE constexpr bool can_keep(std::size_t bytes, std::size_t kept) const noexcept {
        return bytes <= kept && (bits & UINT32_MAX) <= kept - bytes;
    }
    // Requires an open credit, and that the sum is at most `most`.
    ALLOT_ALWAYS_INLINE constexpr credit_word after_refund(std::size_t bytes) const noexcept {
        return {bits + bytes * both};
    }
    // The same for an open or a closed credit.
    constexpr credit_word after_deferred_refund(std::size_t bytes) const noexcept {
        return open() ? after_refund(bytes) : credit_word{bits + bytes};
    }
    // The minimum is the credit now.
    constexpr credit_word with_low_water_reset() const noexcept { return of(credit(), open()); }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
