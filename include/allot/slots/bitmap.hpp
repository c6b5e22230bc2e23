// slots::bitmap: free slots as bits outside the rows; a freed slot is a set bit.
//
//   header | locked: words | shared: summary, words | rows ...      summary: 1 bit per word; word: 64 slots
//
// The holder of the heap's lock sets and claims `locked` bits with plain operations; other threads set `shared` bits
// with atomic ones. Slots are claimed in address order. The rows' memory is never touched, so the host need not reach
// it. Slots of 16 bytes and less have no `locked` bits: two bits each would take too much of the page.
// Invariant: the summary has the bit of every shared word that may be non-zero. A claim clears it before it takes the
// word, a releaser checks it after it set its bits, all seq_cst; so every slot counted as freed is found.
// Cost: 2.02 bits per slot, 1.02 for slots of 16 bytes and less. Under the lock no atomic operation per slot, otherwise
// one per word of slots freed together.
// Threads: put by any; put_locked and claim by the holder of the heap's lock.
// Source: out-of-band bitmaps of Go's mspan and rpmalloc; local and shared free lists: mimalloc, 2019.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/category/slots.hpp>
#include <allot/slots/geometry.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace slots {

/// Free slots as bits outside the rows, also for memory that the host must not touch. Claimed in address order.
struct bitmap {
    using category = allot::category::slots;
    using needs = types<>;
    using provides = types<property::concurrent>;
    static constexpr std::string_view about = "bits out of band; claimed in address order";
    static constexpr std::string_view cost =
        "2.02 bits per slot, 1.02 for slots of 16 bytes and less; no atomic operation per slot under the heap's lock";

    static constexpr std::size_t min_row_bytes = 1;
    static constexpr std::size_t max_shared_only = 16; // largest stride without locked bits

    static constexpr std::size_t out_of_band_bytes(std::size_t slots, std::size_t stride, std::size_t) noexcept {
        const std::size_t words = detail::ceil_div(slots, std::size_t{64});
        return (words * (stride > max_shared_only ? 2 : 1) + detail::ceil_div(words, std::size_t{64})) *
               sizeof(std::uint64_t);
    }

    class in_page {
      public:
        // `out_of_band` is out_of_band_bytes(capacity, stride, header) of host memory, 8-byte aligned.
        void reset(std::byte* out_of_band, const detail::slot_geometry& cut) noexcept {
            word_count_ = (cut.capacity + 63) / 64;
            summary_count_ = (word_count_ + 63) / 64;
            const std::uint32_t n = cut.stride > max_shared_only ? word_count_ : 0;
            auto* const words = reinterpret_cast<std::uint64_t*>(out_of_band);
            locked_ = n != 0 ? words : nullptr;
            for (std::uint32_t i = 0; i != n; ++i) ::new (words + i) std::uint64_t{0};
            shared_ = reinterpret_cast<word*>(words + n);
            for (std::uint32_t i = 0; i != summary_count_ + word_count_; ++i) ::new (shared_ + i) word{0};
            cursor_ = 0;
            locked_count_ = 0;
        }

        // Frees n > 0 slots of this page.
        ALLOT_OUTLINE_WARM void put(std::byte* page, const detail::slot_geometry& cut, std::byte* const* rows,
                                    std::size_t n) noexcept {
            by_words(page, cut, rows, n, [this](std::uint32_t at, std::uint64_t bits) { share(at, bits); });
        }
        ALLOT_ALWAYS_INLINE void put_locked(std::byte* page, const detail::slot_geometry& cut, std::byte* const* rows,
                                            std::size_t n) noexcept {
            if (ALLOT_UNLIKELY(locked_ == nullptr)) return put(page, cut, rows, n);
            by_words(page, cut, rows, n, [this](std::uint32_t at, std::uint64_t bits) { locked_[at] |= bits; });
            locked_count_ += static_cast<std::uint32_t>(n);
        }

        // Claims up to n slots, the lowest address last, since caches use the last one first.
        ALLOT_OUTLINE_WARM std::size_t claim(std::byte* page, const detail::slot_geometry& cut, std::byte** out,
                                             std::size_t n) noexcept {
            std::size_t left = n;
            do {
                left = take_locked(page, cut, out, left);
            } while (left != 0 && take_shared(page, cut, out, left));
            if (left != 0) std::memmove(out, out + left, (n - left) * sizeof *out);
            return n - left;
        }

        // A group: `n` neighbouring slots, a power of two up to 64, the first at a multiple of n. Bit i is its slot i.
        // Claims the free slots of one group and returns their bits; 0: fewer than `least` are free in the next group
        // that has any. `at`: its first slot.
        ALLOT_ALWAYS_INLINE std::uint64_t claim_group(std::uint32_t n, std::uint32_t least,
                                                      std::uint32_t& at) noexcept {
            std::uint32_t in = 0;
            std::uint64_t bits = 0;
            if (locked_count_ != 0) {
                in = cursor_ = next_locked(cursor_);
                bits = std::exchange(locked_[in], 0);
                locked_count_ -= detail::count_bits(bits);
            } else if (!unshare(in, bits)) {
                return 0;
            }
            const std::uint32_t from = low(bits) & ~(n - 1);
            std::uint64_t got = bits & (~std::uint64_t{0} >> (64 - n) << from);
            if (detail::count_bits(got) < least) got = 0;
            if (got != bits) add_locked(in, bits & ~got);
            else cursor_ = in + 1 != word_count_ ? in + 1 : 0;
            at = in * 64 + from;
            return got >> from;
        }
        // Frees slots of a group by their bits.
        void put_group(std::uint32_t at, std::uint64_t bits) noexcept { share(at / 64, bits << (at % 64)); }
        void put_group_locked(std::uint32_t at, std::uint64_t bits) noexcept { add_locked(at / 64, bits << (at % 64)); }

        // True if the row's slot is free in this page. Exact for the holder of the heap's lock.
        bool is_free(std::byte* page, const detail::slot_geometry& cut, std::byte* row) const noexcept {
            const std::uint32_t at = index(page, cut, row);
            return ((shared_words()[at / 64].load(std::memory_order_acquire) | locked_word(at / 64)) & bit(at)) != 0;
        }

        // Calls visit(index) for each free slot. Requires the heap's lock.
        template <class Visit> void visit_free(std::byte*, const detail::slot_geometry&, Visit visit) const noexcept {
            for (std::uint32_t i = 0; i != word_count_; ++i)
                for (std::uint64_t rest = shared_words()[i].load(std::memory_order_acquire) | locked_word(i); rest != 0;
                     rest &= rest - 1)
                    visit(i * 64 + low(rest));
        }

        bool valid(std::byte*, const detail::slot_geometry& cut, std::uint32_t freed) const noexcept {
            std::uint32_t n = 0, n_locked = 0;
            for (std::uint32_t i = 0; i != word_count_; ++i) {
                const std::uint64_t shared = shared_words()[i].load(std::memory_order_acquire), held = locked_word(i);
                const bool published = (shared_[i / 64].load(std::memory_order_acquire) & bit(i)) != 0;
                if ((held & shared) != 0 || (shared != 0 && !published)) return false;
                if (i == cut.capacity / 64 && ((held | shared) >> (cut.capacity % 64)) != 0) return false;
                n += static_cast<std::uint32_t>(std::popcount(held | shared));
                n_locked += static_cast<std::uint32_t>(std::popcount(held));
            }
            return n == freed && n_locked == locked_count_;
        }

      private:
        using word = std::atomic<std::uint64_t>;

        word* shared_words() const noexcept { return shared_ + summary_count_; }
        std::uint64_t locked_word(std::uint32_t at) const noexcept { return locked_ != nullptr ? locked_[at] : 0; }
        static constexpr std::uint64_t bit(std::uint32_t at) noexcept { return std::uint64_t{1} << (at % 64); }
        static std::uint32_t low(std::uint64_t bits) noexcept {
            return static_cast<std::uint32_t>(std::countr_zero(bits));
        }
        static std::uint32_t index(std::byte* page, const detail::slot_geometry& cut, std::byte* row) noexcept {
            return cut.index_of(static_cast<std::size_t>(row - page));
        }

        // Calls put(word, bits) once for consecutive rows in one word.
        template <class Put>
        static ALLOT_ALWAYS_INLINE void by_words(std::byte* page, const detail::slot_geometry& cut,
                                                 std::byte* const* rows, std::size_t n, Put put) noexcept {
            std::uint32_t at = index(page, cut, rows[0]);
            std::uint64_t bits = bit(at);
            for (std::size_t i = 1; i < n; ++i) {
                const std::uint32_t next = index(page, cut, rows[i]);
                if (next / 64 != at / 64) {
                    put(at / 64, bits);
                    at = next;
                    bits = 0;
                }
                bits |= bit(next);
            }
            put(at / 64, bits);
        }
        void share(std::uint32_t at, std::uint64_t bits) noexcept {
            shared_words()[at].fetch_or(bits);
            if ((shared_[at / 64].load() & bit(at)) == 0) shared_[at / 64].fetch_or(bit(at));
        }

        // The first locked word from `at` on that has slots, the first words behind the last. Requires that one has.
        std::uint32_t next_locked(std::uint32_t at) const noexcept {
            if (locked_[at] != 0) return at;
            for (;; at = 0) {
                for (; at + 8 <= word_count_; at += 8) {
                    const std::uint64_t* const w = locked_ + at;
                    if ((w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]) != 0) break;
                }
                for (; at != word_count_; ++at)
                    if (locked_[at] != 0) return at;
            }
        }
        // Claims locked slots into out[left - 1] and down; returns how many are still wanted.
        std::size_t take_locked(std::byte* page, const detail::slot_geometry& cut, std::byte** out,
                                std::size_t left) noexcept {
            const std::size_t wanted = left;
            std::uint32_t at = cursor_;
            for (std::size_t end = left - (left < locked_count_ ? left : locked_count_); left != end;) {
                at = next_locked(at);
                std::uint64_t bits = locked_[at];
                left = take(bits, at, page, cut, out, left);
                locked_[at] = bits;
            }
            cursor_ = at;
            locked_count_ -= static_cast<std::uint32_t>(wanted - left);
            return left;
        }
        // The same from one shared word, and moves the rest of that word to the locked bits; false: none is shared.
        bool take_shared(std::byte* page, const detail::slot_geometry& cut, std::byte** out,
                         std::size_t& left) noexcept {
            std::uint32_t at = 0;
            std::uint64_t bits = 0;
            if (!unshare(at, bits)) return false;
            left = take(bits, at, page, cut, out, left);
            if (bits != 0) add_locked(at, bits);
            return true;
        }
        // Takes all bits of one shared word; false: none is set in any.
        bool unshare(std::uint32_t& at, std::uint64_t& bits) noexcept {
            for (std::uint32_t i = 0; i != summary_count_; ++i) {
                while (const std::uint64_t some = shared_[i].load(std::memory_order_relaxed)) {
                    at = i * 64 + low(some);
                    shared_[i].fetch_and(~bit(at));
                    bits = shared_words()[at].exchange(0);
                    if (bits != 0) return true;
                }
            }
            return false;
        }
        // Frees slots of a word, for the holder of the heap's lock.
        void add_locked(std::uint32_t at, std::uint64_t bits) noexcept {
            if (locked_ == nullptr) return share(at, bits);
            locked_[at] |= bits;
            if (locked_count_ == 0) cursor_ = at;
            locked_count_ += detail::count_bits(bits);
        }
        static std::size_t take(std::uint64_t& bits, std::uint32_t at, std::byte* page,
                                const detail::slot_geometry& cut, std::byte** out, std::size_t left) noexcept {
            std::byte* const base = page + cut.offset_of(at * 64);
            for (; bits != 0 && left != 0; bits &= bits - 1) out[--left] = base + std::size_t{low(bits)} * cut.stride;
            return left;
        }

        word* shared_ = nullptr;          // summary, then words
        std::uint64_t* locked_ = nullptr; // words; null if the slots have no locked bits
        std::uint32_t word_count_ = 0;
        std::uint32_t summary_count_ = 0;
        std::uint32_t cursor_ = 0; // locked word to search next
        std::uint32_t locked_count_ = 0;
    };
};

static_assert(category::slots::takes<bitmap>);

} // namespace slots
} // namespace allot::inline ALLOT_ABI
