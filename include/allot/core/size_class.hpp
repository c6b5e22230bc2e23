// Size classes: maps the bytes of a slot to its class and back, for one list and one page size.
//
//   list's sizes | the list's `above`                             | the page by 15 | .. | by 2 | whole
//   16 .. 2048   | roxie, thor: 4096 8192 12288 16384 20480 24576 | 1 MiB: 69896 74888 .. 524224 1048448
//   16 .. 2048   | fine: 2304 2560 2816 .. 30720 32768            | 1 MiB, from the page by 31 on: 33816 34944 ..
//   fine, few: 48 80 160 320 640                                  | 16 KiB, all: 1072 1600 2288 3216 4016 5360 8048 ..
//
// Invariant: slot sizes ascend and are multiples of 4; the last is the largest that fits the page. Fractions of the
// page are rounded down to 8, so that each fits as many rows per page as its divisor says.
// Cost: index_for is one load up to 4 KiB, above that one load and a few comparisons; 1.8 KiB per object.
// Constructed on the host or the device, constant afterwards: any thread may read. Constexpr.
// Source: the bucket table of HPCC roxiemem, 2010; for larger pages it continues with four classes per doubling.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/size_list.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// A list as a plain array: device code cannot call std::array's members.
template <std::size_t Count> struct plain_list {
    std::uint32_t sizes[Count];
    size::tail above;
};

template <class List> consteval auto plain() noexcept {
    plain_list<List::sizes.size()> list{{}, size::tail_of<List>()};
    for (std::size_t i = 0; i != List::sizes.size(); ++i) list.sizes[i] = List::sizes[i];
    return list;
}

/// The size classes of one list for one page size; size_classes<List> constructs it.
class size_table {
  public:
    static constexpr std::size_t max_classes = 127;
    static constexpr std::size_t none = 127; // no class
    static constexpr std::size_t max_bytes = (std::size_t{32} << 20) - 1;
    static constexpr std::size_t max_direct = 4096 + 16; // up to here a table has one entry per 4 bytes

    ALLOT_HOST_DEVICE constexpr std::size_t count() const noexcept { return count_; }
    ALLOT_HOST_DEVICE constexpr std::size_t slot_bytes(std::size_t index) const noexcept { return sizes_[index]; }
    ALLOT_HOST_DEVICE constexpr std::size_t largest() const noexcept { return sizes_[count_ - 1]; }

    /// The smallest class whose slots hold n bytes; none: the largest does not.
    ALLOT_HOST_DEVICE constexpr std::size_t index_for(std::size_t n) const noexcept {
        if (ALLOT_LIKELY(n <= max_direct)) return direct_index_for(n);
        return n <= largest() ? index_above(n) : none;
    }
    /// The same, without a call. Requires: n <= max_direct.
    ALLOT_HOST_DEVICE ALLOT_ALWAYS_INLINE constexpr std::size_t direct_index_for(std::size_t n) const noexcept {
        return direct_[(n + 3) / 4];
    }

    /// The class of slots of slot_bytes(index) rounded up to a multiple of 16; none: no class has them.
    ALLOT_HOST_DEVICE constexpr std::size_t aligned_to_16(std::size_t index) const noexcept {
        return aligned_to_16_[index];
    }

    ALLOT_HOST_DEVICE constexpr bool valid() const noexcept {
        if (count_ == 0 || count_ > max_classes) return false;
        for (std::size_t i = 0; i != count_; ++i)
            if (sizes_[i] % 4 != 0 || (i != 0 && sizes_[i] <= sizes_[i - 1])) return false;
        return true;
    }

  protected:
    constexpr size_table() noexcept = default;

    // Builds the classes of a list for `usable` bytes of a page, at least 64. `few`: fewer than a list in eighths has.
    template <std::size_t Count>
    ALLOT_HOST_DEVICE constexpr void make(const detail::plain_list<Count>& list, std::size_t usable,
                                          bool few) noexcept {
        if (few && list.above == size::tail::eighths) return make_few(usable);
        for (std::size_t i = 0; i != Count && list.sizes[i] < usable; ++i) add(list.sizes[i]);
        const bool in_eighths = list.above == size::tail::eighths;
        const std::size_t fractions = in_eighths ? fractions_after(list.sizes[Count - 1], Count, usable) : 15;
        const std::size_t fraction = align_down(usable / fractions, 8);
        if (in_eighths) add_doublings(128, 8, std::size_t{256} << 10, fraction, fractions);
        else {
            for (std::size_t size = 4096; size < 16384 && size < fraction; size += 4096) add(size);
            add_doublings(16384, 4, 0, fraction, fractions);
        }
        for (std::size_t by = fractions; by != 0; --by) add(align_down(usable / by, 8));
        index();
    }

  private:
    static constexpr unsigned octave_shift = 3; // eight cells per doubling
    static constexpr unsigned first_octave = 11;
    static constexpr unsigned octave_count = 14; // 2 KiB to 32 MiB

    ALLOT_HOST_DEVICE static constexpr std::size_t octave(std::size_t n) noexcept {
        const unsigned top = log2_floor(n);
        return ((static_cast<std::size_t>(top) - first_octave) << octave_shift) + ((n >> (top - octave_shift)) & 7);
    }

    // About one class per doubling; then fractions of the page. All for rows aligned to 16, too.
    ALLOT_HOST_DEVICE constexpr void make_few(std::size_t usable) noexcept {
        constexpr std::size_t fractions[] = {15, 10, 7, 5, 4, 3, 2, 1};
        add(48);
        for (std::size_t size = 80; size < usable / 20; size *= 2) add(size);
        for (const std::size_t by : fractions) add(align_down(usable / by, 16));
        index();
    }

    ALLOT_HOST_DEVICE constexpr void add(std::size_t size) noexcept {
        if (count_ == max_classes || size == 0 || (count_ != 0 && size <= sizes_[count_ - 1])) return;
        sizes_[count_++] = static_cast<std::uint32_t>(size);
    }

    // How many fractions of the page are classes: 31, or 15 where eight classes per doubling and 31 are too many.
    ALLOT_HOST_DEVICE static constexpr std::size_t fractions_after(std::size_t last, std::size_t count,
                                                                   std::size_t usable) noexcept {
        const std::size_t first = usable / 31, doublings = first > last ? log2_floor((first - 1) / last) + 1 : 0;
        return count + 8 * doublings + 31 <= max_classes ? 31 : 15;
    }
    // Adds `parts` classes per doubling from `first` to below `end`, half as many from `coarse` on (0: never), and
    // keeps entries for the fractions.
    ALLOT_HOST_DEVICE constexpr void add_doublings(std::size_t first, std::size_t parts, std::size_t coarse,
                                                   std::size_t end, std::size_t fractions) noexcept {
        for (std::size_t base = first; base < end; base *= 2) {
            const std::size_t step = base / (coarse != 0 && base >= coarse ? parts / 2 : parts);
            for (std::size_t size = base; size < 2 * base && size < end && count_ + fractions < max_classes;
                 size += step)
                add(size);
        }
    }

    // The same for n > max_direct.
    ALLOT_HOST_DEVICE constexpr std::size_t index_above(std::size_t n) const noexcept {
        if (n > max_bytes) __builtin_unreachable(); // without it g++ 12 warns about constants that the caller excludes
        std::size_t index = octaves_[octave(n)];
        while (sizes_[index] < n) ++index;
        return index;
    }
    ALLOT_HOST_DEVICE constexpr void index() noexcept {
        std::size_t at = 0;
        for (std::size_t cell = 0; cell <= max_direct / 4; ++cell) {
            while (at < count_ && sizes_[at] < cell * 4) ++at;
            direct_[cell] = static_cast<std::uint8_t>(at < count_ ? at : none);
        }
        at = 0;
        for (std::size_t cell = 0; cell != octave_count * 8; ++cell) {
            const std::size_t least = ((cell & 7) + 8) << (first_octave - octave_shift + (cell >> octave_shift));
            while (at + 1 < count_ && sizes_[at] < least) ++at;
            octaves_[cell] = static_cast<std::uint8_t>(at);
        }
        at = 0;
        for (std::size_t i = 0; i != max_classes + 1; ++i) {
            while (i < count_ && at < count_ && sizes_[at] < align_up(sizes_[i], 16)) ++at;
            const bool any = i < count_ && at < count_ && sizes_[at] == align_up(sizes_[i], 16);
            aligned_to_16_[i] = static_cast<std::uint8_t>(any ? at : none);
        }
    }

    std::uint32_t sizes_[max_classes]{};
    std::uint32_t count_ = 0;
    std::uint8_t direct_[max_direct / 4 + 1]{};
    std::uint8_t octaves_[octave_count * 8]{};
    std::uint8_t aligned_to_16_[max_classes + 1]{};
};

/// The size classes of List for pages with `usable` bytes for slots, at least 64.
template <class List> class size_classes : public size_table {
  public:
    static_assert(size::is_list<List>, "allot: this is not a size list: see allot/core/size_list.hpp");

    ALLOT_HOST_DEVICE constexpr explicit size_classes(std::size_t usable, bool few = false) noexcept {
        constexpr auto list = detail::plain<List>();
        make(list, usable, few);
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
