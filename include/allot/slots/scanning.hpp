// slots::scanning: a freed slot carries a mark (slots/mark.hpp); a claim scans for marks in address order, in groups of
// 16 slots whose hint bit is set.
//
//   header | hints: 1 bit per 16 slots | marks of rows without a header | rows, the mark in front of each
//
// A releaser marks slots with plain stores, fences, then sets the hints that are clear. A claim clears a hint, then
// scans the group's marks, both seq_cst. So one of them sees the other.
// Invariant: a slot counted as freed has its hint, or is ahead of the claim in its group. A spare hint costs one scan
// of a group, and each hint was set by a release: a claimed slot costs at most 16 slots examined, at any occupancy and
// in any order of release. A claim that has a slot stops at `scan_limit`.
// Cost: 1/16 bit per slot, and a byte for rows without a header; one fence per batch freed, one atomic operation per
// group without a hint. Threads: put by any; put_locked and claim by the holder of the heap's lock.
// Source: HPCC roxiemem's scanning heaps, 2013, which scan whole pages; hints as in the summary of slots::bitmap.
#pragma once

#include <allot/core/bits.hpp>
#include <allot/core/category/slots.hpp>
#include <allot/core/min_max.hpp>
#include <allot/slots/geometry.hpp>
#include <allot/slots/mark.hpp>
#include <allot/sync/full_fence.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace slots {

/// A mark in the header of each free row. Needs no memory out of band for rows with a header, except the hints.
struct scanning {
    using category = allot::category::slots;
    using needs = types<property::host_accessible>;
    using provides = types<property::concurrent>;
    static constexpr std::string_view about = "a mark in front of each free row, found in address order by hints";
    static constexpr std::string_view cost = "1/16 bit per slot, a byte more without a row header; a store per "
                                             "release, at most 16 slots examined per slot claimed";

    static constexpr std::size_t min_row_bytes = 1;
    static constexpr std::uint32_t group = 16;      // slots per hint
    static constexpr std::uint32_t scan_limit = 64; // slots examined after which a claim that has one stops

    static constexpr std::size_t out_of_band_bytes(std::size_t slots, std::size_t, std::size_t header) noexcept {
        return hint_words(slots) * sizeof(std::uint64_t) + detail::slot_marks::out_of_band_bytes(slots, header);
    }

    class in_page {
      public:
        // `out_of_band` is out_of_band_bytes(capacity, stride, header) of host memory, 8-byte aligned.
        void reset(std::byte* out_of_band, const detail::slot_geometry& cut) noexcept {
            hints_ = reinterpret_cast<word*>(out_of_band);
            for (std::size_t i = 0; i < hint_words(cut.capacity); ++i) ::new (hints_ + i) word{0};
            marks(cut).reset(cut);
            cursor_ = at_ = high_water_mark_ = scanned_ = 0;
        }
        // Slots below `fresh` may be freed from now on. Requires the heap's lock.
        void set_high_water_mark(std::uint32_t fresh) noexcept { high_water_mark_ = fresh; }

        void put(std::byte* page, const detail::slot_geometry& cut, std::byte* const* rows, std::size_t n) noexcept {
            const detail::slot_marks mark = marks(cut);
            for (std::size_t i = 0; i < n; ++i) mark.set(rows[i], index(page, cut, rows[i]));
            detail::full_fence(); // either a claim sees these marks, or hint() sees that it cleared the hint
            std::uint32_t last = ~std::uint32_t{0};
            for (std::size_t i = 0; i < n; ++i) {
                const std::uint32_t at = index(page, cut, rows[i]) / group;
                if (at != last) hint(at);
                last = at;
            }
        }
        // Needs no fence: no claim can run, since the caller holds the heap's lock.
        ALLOT_ALWAYS_INLINE void put_locked(std::byte* page, const detail::slot_geometry& cut, std::byte* const* rows,
                                            std::size_t n) noexcept {
            const detail::slot_marks mark = marks(cut);
            for (std::size_t i = 0; i < n; ++i) {
                const std::uint32_t at = index(page, cut, rows[i]);
                mark.set(rows[i], at);
                hint(at / group);
            }
        }

        // Claims up to n slots; 0 only if none is free. May return fewer than n although more are free.
        std::size_t claim(std::byte* page, const detail::slot_geometry& cut, std::byte** out, std::size_t n) noexcept {
            scanned_ = 0;
            std::size_t got = scan(page, cut, group_end(at_), out, n); // the rest of the last group
            const auto words = static_cast<std::uint32_t>(hint_words(cut.capacity));
            for (std::uint32_t empty = 0; empty < words && got < n && (got == 0 || scanned_ < scan_limit);) {
                const std::uint64_t some = hints_[cursor_].load(std::memory_order_relaxed);
                if (some == 0) {
                    cursor_ = cursor_ + 1 == words ? 0 : cursor_ + 1;
                    ++empty;
                    continue;
                }
                at_ = (cursor_ * 64 + static_cast<std::uint32_t>(std::countr_zero(some))) * group;
                hints_[cursor_].fetch_and(~(some & (0 - some)));
                got += scan(page, cut, at_ + group, out + got, n - got);
            }
            for (std::size_t i = 0; i != got / 2; ++i)
                std::swap(out[i], out[got - 1 - i]); // lowest address last: it is used first
            return got;
        }
        // Slots that the last claim examined.
        std::uint32_t scanned() const noexcept { return scanned_; }

        // True if the row's slot is free in this page.
        bool is_free(std::byte* page, const detail::slot_geometry& cut, std::byte* row) const noexcept {
            const std::uint32_t at = index(page, cut, row);
            return at < high_water_mark_ && marks(cut).is_set(row, at);
        }

        // Calls visit(index) for each free slot. Requires the heap's lock.
        template <class Visit>
        void visit_free(std::byte* page, const detail::slot_geometry& cut, Visit visit) const noexcept {
            for (std::uint32_t i = 0; i != cut.capacity; ++i)
                if (is_free(page, cut, page + cut.offset_of(i))) visit(i);
        }

        bool valid(std::byte* page, const detail::slot_geometry& cut, std::uint32_t freed) const noexcept {
            std::uint32_t n = 0;
            for (std::uint32_t i = 0; i < high_water_mark_; ++i) {
                if (!marks(cut).is_set(page + cut.offset_of(i), i)) continue;
                const bool ahead = i >= at_ && i < group_end(at_);
                if (!hinted(i / group) && !ahead) return false;
                ++n;
            }
            return n == freed && high_water_mark_ <= cut.capacity;
        }

      private:
        using word = std::atomic<std::uint64_t>;

        static constexpr std::uint32_t group_end(std::uint32_t at) noexcept { return (at + group - 1) / group * group; }
        static constexpr std::uint64_t bit(std::uint32_t at) noexcept { return std::uint64_t{1} << (at % 64); }
        static std::uint32_t index(std::byte* page, const detail::slot_geometry& cut, std::byte* row) noexcept {
            return cut.index_of(static_cast<std::size_t>(row - page));
        }
        bool hinted(std::uint32_t at) const noexcept {
            return (hints_[at / 64].load(std::memory_order_relaxed) & bit(at)) != 0;
        }
        void hint(std::uint32_t at) noexcept {
            if (!hinted(at))
                hints_[at / 64].fetch_or(bit(at),
                                         std::memory_order_relaxed); // ordered by the fence in put(), or by the lock
        }
        // Claims marked slots from at_ on, before `end`.
        std::size_t scan(std::byte* page, const detail::slot_geometry& cut, std::uint32_t end, std::byte** out,
                         std::size_t n) noexcept {
            const detail::slot_marks mark = marks(cut);
            const std::uint32_t first = at_;
            end = detail::min(end, high_water_mark_);
            std::size_t got = 0;
            std::byte* row = page + cut.offset_of(first);
            for (; at_ < end && got < n; ++at_, row += cut.stride)
                if (mark.take(row, at_)) out[got++] = row;
            scanned_ += at_ - first;
            return got;
        }
        detail::slot_marks marks(const detail::slot_geometry& cut) const noexcept {
            return {reinterpret_cast<std::byte*>(hints_ + hint_words(cut.capacity)), cut};
        }

        word* hints_ = nullptr; // the marks of rows without a header follow
        // Used by the holder of the heap's lock only:
        std::uint32_t cursor_ = 0;          // hint word to search next
        std::uint32_t at_ = 0;              // next slot to scan in its group; at a group's start: none
        std::uint32_t high_water_mark_ = 0; // slots ever handed out
        std::uint32_t scanned_ = 0;         // by the last claim
    };

  private:
    static constexpr std::size_t hint_words(std::size_t slots) noexcept {
        return detail::ceil_div(slots, std::size_t{group} * 64);
    }
};

static_assert(category::slots::takes<scanning>);

} // namespace slots
} // namespace allot::inline ALLOT_ABI
