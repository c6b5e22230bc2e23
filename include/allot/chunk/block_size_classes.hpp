// The size classes of blocks: four per doubling, or one, in multiples of a unit.
//
//   4 per doubling, unit 64:   64 128 192 256 | 320 384 448 512 | 640 768 896 1024 | 1280 ...   waste < 20 % above 256
//   1 per doubling, unit 64:   64 128 256 512 1024 ...                                           waste < 50 %
//
// The first `Parts` classes are multiples of the unit. Invariant: class_of(bytes_of(c)) == c, sizes ascend, and the
// class of n is the smallest that holds n. Cost: about eight instructions either way, no table. Constexpr. Threads:
// any.
// Source: four per doubling as in jemalloc, 2005; powers of two, Knowlton 1965.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <std::size_t Unit, unsigned Parts> struct block_size_classes {
    static_assert(is_power_of_two(Unit) && (Parts == 1 || Parts == 4));
    static constexpr std::size_t unit = Unit;
    static constexpr unsigned part_bits = Parts == 4 ? 2 : 0;
    static constexpr unsigned first_doubling = log2_floor(Unit) + part_bits;

    // Requires n > 0.
    static constexpr unsigned class_of(std::size_t n) noexcept {
        const std::size_t last = n - 1;
        if (n <= Unit * Parts) return static_cast<unsigned>(last >> (first_doubling - part_bits));
        const unsigned top = log2_floor(last);
        return Parts + ((top - first_doubling) << part_bits) +
               static_cast<unsigned>(last >> (top - part_bits) & (Parts - 1));
    }
    static constexpr std::size_t bytes_of(unsigned c) noexcept {
        if (c < Parts) return (std::size_t{c} + 1) << (first_doubling - part_bits);
        const unsigned top = first_doubling + ((c - Parts) >> part_bits);
        return (std::size_t{Parts} + ((c - Parts) & (Parts - 1)) + 1) << (top - part_bits);
    }
    // The smallest class that holds n bytes and whose size is a multiple of `align`.
    static constexpr unsigned class_of(std::size_t n, std::size_t align) noexcept {
        unsigned c = class_of(n > align ? n : align);
        while (!is_aligned(bytes_of(c), align)) ++c; // ends: each power of two is a class's size
        return c;
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
