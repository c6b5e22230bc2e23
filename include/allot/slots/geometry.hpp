// The geometry of a page of slots: sizes and offsets, and conversion between a row's offset and its slot's index.
//
//   page                    first                   first + stride
//   | header | free bits |hdr| row ............ |hdr| row ......
//                            ^ a slot's address is that of its row
//
// Invariant: offsets count from the page's start; `first` and `stride` are multiples of the row alignment.
// Cost: 24 bytes per heaplet; an index takes one multiplication. Threads: any; host and device.
// Source: division by an invariant integer through multiplication, Granlund and Montgomery 1994.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct slot_geometry {
    std::uint32_t stride = 0;     // bytes from one slot to the next, row header included
    std::uint32_t first = 0;      // offset of the first row (after its header)
    std::uint32_t capacity = 0;   // slots in the page
    std::uint32_t header = 0;     // bytes of row header in front of each row
    std::uint64_t reciprocal = 0; // ceil(2^40 / stride)

    static constexpr unsigned shift = 40;

    // Exact for the offset of a row; for an offset inside a row, the row's index if stride < 2^16.
    constexpr std::uint32_t index_of(std::size_t offset) const noexcept {
        return static_cast<std::uint32_t>((std::uint64_t{offset - first} * reciprocal) >> shift);
    }
    constexpr std::size_t offset_of(std::uint32_t index) const noexcept {
        return first + static_cast<std::size_t>(index) * stride;
    }
    // True for the offset of a row's first byte only, whatever the offset.
    constexpr bool is_row(std::size_t offset) const noexcept {
        if (offset < first || offset - first >= std::size_t{capacity} * stride) return false;
        return offset_of(index_of(offset)) == offset;
    }
};

// The geometry of a page of `page_bytes` with `fixed` bytes of page header and as many slots as fit; capacity 0: none
// fits. `header`: bytes in front of each row. `out_of_band(n)`: bytes that n slots need after the page header.
template <class OutOfBand>
constexpr slot_geometry compute_geometry(std::size_t page_bytes, std::size_t fixed, std::size_t row_bytes,
                                         std::size_t align, std::size_t header, OutOfBand out_of_band) noexcept {
    slot_geometry g;
    if (row_bytes > page_bytes) return g; // the sums below cannot wrap
    const std::size_t stride = align_up(row_bytes + header, align);
    const auto first_for = [&](std::size_t n) { return align_up(fixed + out_of_band(n) + header, align); };
    const auto fits = [&](std::size_t n) { return first_for(n) - header + n * stride <= page_bytes; };
    std::size_t n = 0; // fits, or is 0
    for (std::size_t beyond = page_bytes / stride + 1; beyond - n > 1;) {
        const std::size_t middle = n + (beyond - n) / 2;
        (fits(middle) ? n : beyond) = middle;
    }
    g.stride = static_cast<std::uint32_t>(stride);
    g.header = static_cast<std::uint32_t>(header);
    g.capacity = static_cast<std::uint32_t>(n);
    // Rows start at cache lines, or at the largest power of two in the stride, where the room behind the last one
    // allows.
    const std::size_t power = stride & (~stride + 1), line = power < 64 ? power : 64;
    const std::size_t first = first_for(n), aligned = align_up(first, line);
    if (n != 0) g.first = static_cast<std::uint32_t>(aligned - header + n * stride <= page_bytes ? aligned : first);
    g.reciprocal = ((std::uint64_t{1} << slot_geometry::shift) + stride - 1) / stride;
    return g;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
