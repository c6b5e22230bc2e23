// slots::bitmap: one bit a slot, outside the rows: a slot that was given back is a set bit.
//
//   header | summary: 1 bit a word | words: 1 bit a slot | rows ...
//
// Any thread sets bits; the holder of the heap's lock claims up to 64 slots by one exchange, in the order of their
// addresses, whatever the order of release. The row's memory is not touched, so it may be memory that the host
// cannot reach. The summary has the bit of every word that may be non-zero: the claimer clears it before it takes
// the word, a releaser looks at it after it set its bits (all in one total order), so every slot that was counted
// as given back can be found; a summary bit too many costs one look.
// Cost: 1 bit a slot and 1/64 bit of summary; two atomic operations for up to 64 slots claimed, one a word of
// slots given back. Threads: put by any; claim by the holder of the heap's lock.
// Source: out-of-band bitmaps as in Go's mspan and rpmalloc; claim by exchange 2026.
#pragma once

#include <allot/core/bits.hpp>
#include <allot/core/category/slots.hpp>
#include <allot/slots/geometry.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace slots {

struct bitmap {
    using category = allot::category::slots;
    using needs = types<>;
    using provides = types<property::concurrent>;
    static constexpr std::string_view about = "one bit a slot, out of band; claimed 64 at once in address order";
    static constexpr std::string_view cost = "1.02 bits a slot; one atomic operation a word of releases";

    static constexpr std::size_t min_row_bytes = 1;

    static constexpr std::size_t aside_bytes(std::size_t slots, std::size_t) noexcept {
        const std::size_t words = ceil_div(slots, std::size_t{64});
        return (words + ceil_div(words, std::size_t{64})) * sizeof(std::uint64_t);
    }

    class in_page {
      public:
        // `aside` is aside_bytes(capacity, header) of host memory, 8-byte aligned.
        void reset(std::byte* aside, const slot_geometry& cut) noexcept {
            word_count_ = (cut.capacity + 63) / 64;
            summary_count_ = (word_count_ + 63) / 64;
            summary_ = reinterpret_cast<word*>(aside);
            for (std::uint32_t i = 0; i < summary_count_ + word_count_; ++i) ::new (summary_ + i) word{0};
            cursor_ = 0;
        }

        void put(std::byte* page, const slot_geometry& cut, std::byte* const* rows, std::size_t n) noexcept {
            std::uint32_t at = index(page, cut, rows[0]);
            std::uint64_t bits = bit(at);
            for (std::size_t i = 1; i < n; ++i) {
                const std::uint32_t next = index(page, cut, rows[i]);
                if (next / 64 != at / 64) {
                    set(at / 64, bits);
                    at = next;
                    bits = 0;
                }
                bits |= bit(next);
            }
            set(at / 64, bits);
        }

        std::size_t claim(std::byte* page, const slot_geometry& cut, std::byte** out, std::size_t n) noexcept {
            std::size_t got = 0;
            for (std::uint32_t looked = 0; looked < summary_count_ && got < n;) {
                const std::uint64_t some = summary_[cursor_].load(std::memory_order_relaxed);
                if (some == 0) {
                    cursor_ = cursor_ + 1 == summary_count_ ? 0 : cursor_ + 1;
                    ++looked;
                    continue;
                }
                const std::uint32_t at = cursor_ * 64 + static_cast<std::uint32_t>(std::countr_zero(some));
                summary_[cursor_].fetch_and(~(some & (0 - some)));
                got += take_word(at, page, cut, out + got, n - got);
            }
            for (std::size_t i = 0; i < got / 2; ++i) { // lowest address last: it is used first
                std::byte* const other = out[got - 1 - i];
                out[got - 1 - i] = out[i];
                out[i] = other;
            }
            return got;
        }

        // Whether the row's bit is set: it was given back.
        bool is_free(std::byte* page, const slot_geometry& cut, std::byte* row) const noexcept {
            const std::uint32_t at = index(page, cut, row);
            return (words()[at / 64].load(std::memory_order_acquire) & bit(at)) != 0;
        }

        bool valid(std::byte*, const slot_geometry& cut, std::uint32_t given) const noexcept {
            std::uint32_t n = 0;
            for (std::uint32_t i = 0; i < word_count_; ++i) {
                const std::uint64_t bits = words()[i].load(std::memory_order_acquire);
                const bool told = (summary_[i / 64].load(std::memory_order_acquire) & bit(i)) != 0;
                if (bits != 0 && !told) return false;
                if (i == cut.capacity / 64 && (bits >> (cut.capacity % 64)) != 0) return false;
                n += static_cast<std::uint32_t>(std::popcount(bits));
            }
            return n == given;
        }

      private:
        using word = std::atomic<std::uint64_t>;

        word* words() const noexcept { return summary_ + summary_count_; }
        static constexpr std::uint64_t bit(std::uint32_t at) noexcept { return std::uint64_t{1} << (at % 64); }
        static std::uint32_t index(std::byte* page, const slot_geometry& cut, std::byte* row) noexcept {
            return cut.index_of(static_cast<std::size_t>(row - page));
        }

        void set(std::uint32_t at, std::uint64_t bits) noexcept {
            words()[at].fetch_or(bits);
            if ((summary_[at / 64].load() & bit(at)) == 0) summary_[at / 64].fetch_or(bit(at));
        }

        std::size_t take_word(std::uint32_t at, std::byte* page, const slot_geometry& cut, std::byte** out,
                              std::size_t n) noexcept {
            std::uint64_t bits = words()[at].exchange(0);
            std::byte* const base = page + cut.offset_of(at * 64);
            std::size_t got = 0;
            for (; bits != 0 && got < n; bits &= bits - 1)
                out[got++] = base + static_cast<std::size_t>(std::countr_zero(bits)) * cut.stride;
            if (bits != 0) set(at, bits);
            return got;
        }

        word* summary_ = nullptr; // the words follow it
        std::uint32_t summary_count_ = 0;
        std::uint32_t word_count_ = 0;
        std::uint32_t cursor_ = 0; // summary word to look at next; the lock's holder only
    };
};

static_assert(category::slots::takes<bitmap>);

} // namespace slots
} // namespace allot::inline ALLOT_ABI
