// The size classes of blocks: eight per doubling, four, or one, in multiples of a unit.
//
//   8 per doubling, unit 64:   64 128 .. 576 | 640 704 .. 1088 | 1216 1344 .. 2112 | 2368 ..    waste < 12 %
//   4 per doubling, unit 64:   64 128 192 256 | 320 384 448 512 | 640 768 896 1024 | 1280 ...   waste < 20 % above 256
//   1 per doubling, unit 64:   64 128 256 512 1024 ...                                           waste < 50 %
//
// Where there are eight, each class above 576 is a unit larger than a multiple of a power of two: programs ask for
// 2^n bytes and a little more (Arrow pads its buffers to 64 bytes, and its offsets have one entry more than rows). From
// 1 MiB on there are four.
// The first classes are multiples of the unit. Invariant: class_of(bytes_of(c)) == c, sizes ascend, and the class of n
// is the smallest that holds n. Cost: about eight instructions either way, no table. Constexpr. Threads: any.
// Source: four per doubling as in jemalloc, 2005; powers of two, Knowlton 1965.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <std::size_t Unit, unsigned Parts> struct block_size_classes {
    static_assert(is_power_of_two(Unit) && (Parts == 1 || Parts == 4 || Parts == 8));
    static constexpr std::size_t unit = Unit;
    static constexpr unsigned part_bits = log2_floor(std::size_t{Parts});
    static constexpr unsigned first_doubling = log2_floor(Unit) + part_bits;
    static constexpr std::size_t more = Parts == 8 ? Unit : 0;           // than a multiple of a power of two
    static constexpr unsigned multiples = Parts + (more != 0 ? 1U : 0U); // the first classes

    // Requires n > 0.
    static constexpr unsigned class_of(std::size_t n) noexcept {
        if (n <= Unit * Parts + more) return static_cast<unsigned>((n - 1) >> (first_doubling - part_bits));
        const std::size_t last = n - 1 - more;
        const unsigned top = log2_floor(last);
        if (Parts == 8 && top >= coarse_doubling)
            return coarse_class + ((top - coarse_doubling) << 2) + static_cast<unsigned>(last >> (top - 2) & 3);
        return multiples + ((top - first_doubling) << part_bits) +
               static_cast<unsigned>(last >> (top - part_bits) & (Parts - 1));
    }
    static constexpr std::size_t bytes_of(unsigned c) noexcept {
        if (c < multiples) return (std::size_t{c} + 1) << (first_doubling - part_bits);
        const bool coarse = Parts == 8 && c >= coarse_class;
        const unsigned bits = coarse ? 2 : part_bits, rest = c - (coarse ? coarse_class : multiples);
        const unsigned top = (coarse ? coarse_doubling : first_doubling) + (rest >> bits), parts = 1U << bits;
        return ((std::size_t{parts} + (rest & (parts - 1)) + 1) << (top - bits)) + more;
    }
    // The smallest class that holds n bytes; its size is a multiple of `align`, except where there are eight per
    // doubling: their fit aligns blocks of any size.
    static constexpr unsigned class_of(std::size_t n, std::size_t align) noexcept {
        if (Parts == 8) return class_of(n);
        unsigned c = class_of(n > align ? n : align);
        while (!is_aligned(bytes_of(c), align)) ++c; // ends: each power of two is a class's size
        return c;
    }

  private:
    static constexpr unsigned coarse_doubling = 20;
    static constexpr unsigned coarse_class = multiples + ((coarse_doubling - first_doubling) << part_bits);
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
