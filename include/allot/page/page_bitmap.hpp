// The bitmap of an arena's taken pages: single pages are taken from the low end, runs from the high end.
//
//   words:  bit i of word w is set while page 64 w + i is taken
//   full:   bit w is set while word w has no free page; a hint, which may lack a bit but sets none wrongly for longer
//           than a take or give lasts
//
// Invariant: takes are serialized by the arena's lock; pages are given at any time, without a lock.
// Cost: 1 bit and 1/64 bit per page, 272 bytes; a take reads one word of `full` per 4096 pages. Threads: any, as above.
// Source: HPCC roxiemem's heap bitmap, 2009, for the two ends; there, giving back takes a lock.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/page/used_parts.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

class page_bitmap {
  public:
    static constexpr std::size_t none = ~std::size_t{0};

    static constexpr std::size_t bytes_for(std::size_t pages) noexcept {
        const std::size_t words = ceil_div(pages, std::size_t{64});
        return (words + ceil_div(words, std::size_t{64})) * sizeof(std::uint64_t);
    }

    // Requires bytes_for(pages) bytes of zeros.
    void start(std::byte* memory, std::size_t pages) noexcept {
        pages_ = pages;
        word_count_ = ceil_div(pages, std::size_t{64});
        full_count_ = ceil_div(word_count_, std::size_t{64});
        words_ = reinterpret_cast<word*>(memory);
        full_ = words_ + word_count_;
        used_.start(word_count_);
        if (pages % 64 != 0)
            used_.note(word_count_ - 1), words_[word_count_ - 1].store(~std::uint64_t{0} << (pages % 64));
        if (word_count_ % 64 != 0) full_[full_count_ - 1].store(~std::uint64_t{0} << (word_count_ % 64));
    }

    // The lowest free page; none: all are taken. Requires the arena's lock.
    std::size_t find_one() noexcept {
        const std::size_t from = low_.load(std::memory_order_relaxed);
        const std::size_t found = find_one_from(from, full_count_);
        return found != none || from == 0 ? found : find_one_from(0, from);
    }
    // The highest run of n free pages; none: there is no such run.
    std::size_t find_run(std::size_t n) const noexcept {
        return find_run(n, 0, pages_, [this](std::size_t w) { return taken_in_word(w); });
    }
    // The same between two pages, of those whose bits busy(word) has clear.
    template <class Busy>
    static std::size_t find_run(std::size_t n, std::size_t begin, std::size_t end, Busy busy) noexcept {
        std::size_t run = 0;
        for (std::size_t page = end; page > begin && n <= end;) {
            const std::uint64_t bits = busy((page - 1) / 64);
            const std::size_t in_word = (page - 1) % 64 + 1;
            const std::uint64_t high = bits << (64 - in_word); // the page below `page` is the top bit
            if (high == 0) {
                run += in_word;
                page -= in_word;
            } else {
                const auto free = static_cast<std::size_t>(std::countl_zero(high));
                run += free;
                page -= free;
                if (run < n) {
                    run = 0;
                    const auto taken = static_cast<std::size_t>(std::countl_one(high << free));
                    page -= taken < in_word - free ? taken : in_word - free;
                }
            }
            if (run >= n) return page + run - n;
        }
        return none;
    }
    // Whether these pages exist and are free.
    bool are_free(std::size_t first, std::size_t n) const noexcept {
        return first <= pages_ && n <= pages_ - first && are(first, n, false);
    }
    // Takes free pages. Requires the arena's lock.
    void take(std::size_t first, std::size_t n) noexcept {
        for_words(first, n, [&](std::size_t w, std::uint64_t mask) {
            used_.note(w);
            words_[w].fetch_or(mask);
            mark_if_full(w);
        });
    }
    // Pages that were not taken, but may be dirty, are to be visited, too.
    void note_used(std::size_t first, std::size_t n) noexcept {
        for_words(first, n, [&](std::size_t w, std::uint64_t) { used_.note(w); });
    }
    // Calls visit(word) for words from `from` on of which a page was ever taken, and some beside them, in order, until
    // it returns false.
    template <class Visit> void visit_used(std::size_t from, const Visit& visit) const {
        used_.visit(from, [&](std::size_t w, std::size_t end, bool used) {
            for (; used && w != end; ++w)
                if (!visit(w)) return false;
            return true;
        });
    }
    // The number of free pages in front of `page`, counted up to `most`.
    std::size_t free_before(std::size_t page, std::size_t most) const noexcept {
        std::size_t n = 0;
        while (n < most && n < page) {
            const std::size_t last = page - n - 1, in_word = last % 64 + 1;
            const std::uint64_t high = words_[last / 64].load(std::memory_order_acquire) << (64 - in_word);
            if (high != 0) return min(n + static_cast<std::size_t>(std::countl_zero(high)), most);
            n += in_word;
        }
        return min(n, most);
    }
    // Marks pages free. False: one of them was free already, and the others may be marked.
    ALLOT_OUTLINE_WARM bool give(std::size_t first, std::size_t n) noexcept {
        bool ok = true;
        for_words(first, n, [&](std::size_t w, std::uint64_t mask) {
            ok = (words_[w].fetch_and(~mask) & mask) == mask && ok;
            full_[w / 64].fetch_and(~bit(w));
        });
        std::size_t low = low_.load(std::memory_order_relaxed);
        while (first / 4096 < low && !low_.compare_exchange_weak(low, first / 4096, std::memory_order_relaxed)) {
        }
        return ok;
    }

    bool is_taken(std::size_t page) const noexcept {
        return (words_[page / 64].load(std::memory_order_acquire) & bit(page)) != 0;
    }
    bool are(std::size_t first, std::size_t n, bool taken) const noexcept {
        bool ok = true;
        for_words(first, n, [&](std::size_t w, std::uint64_t mask) {
            ok = ok && (words_[w].load(std::memory_order_acquire) & mask) == (taken ? mask : 0);
        });
        return ok;
    }
    std::uint64_t taken_in_word(std::size_t w) const noexcept { return words_[w].load(std::memory_order_acquire); }
    std::size_t word_count() const noexcept { return word_count_; }
    const std::atomic<std::uint64_t>* words() const noexcept { return words_; }
    std::size_t pages() const noexcept { return pages_; }

    struct free_run {
        std::size_t first = 0, pages = 0;
    };
    // The longest run of free pages, the last one of several; it has no pages where all are taken. Cost: a look at the
    // words of parts that were ever used.
    ALLOT_OUTLINE_WARM free_run largest_free_run() const noexcept {
        free_run best, now;
        const auto end = [&](std::size_t page) {
            if (now.pages != 0 && now.pages >= best.pages) best = now;
            now = {page, 0};
        };
        used_.visit(0, [&](std::size_t w, std::size_t last, bool used) {
            if (!used) now.pages += (last - w) * 64;
            for (; used && w != last; ++w) {
                std::uint64_t bits = words_[w].load(std::memory_order_acquire);
                for (std::size_t at = 0; at != 64;) {
                    const auto free = min(static_cast<std::size_t>(std::countr_zero(bits)), 64 - at);
                    now.pages += free;
                    at += free;
                    if (at == 64) break;
                    bits >>= free;
                    const auto taken = static_cast<std::size_t>(std::countr_one(bits));
                    at += taken;
                    bits = taken == 64 ? 0 : bits >> taken;
                    end(w * 64 + at);
                }
            }
            return true;
        });
        end(pages_);
        return best;
    }
    // No other thread may change the bitmap meanwhile.
    bool valid() const noexcept {
        for (std::size_t w = 0; w < word_count_; ++w)
            if ((full_[w / 64].load() & bit(w)) != 0 && ~words_[w].load() != 0) return false;
        return true;
    }

    // Mask of n pages of a word, from `low` on.
    static constexpr std::uint64_t run_mask(std::size_t low, std::size_t n) noexcept {
        return (n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1) << low;
    }
    // Calls call(word, mask) for each word of a range of pages.
    template <class Call> static void for_words(std::size_t first, std::size_t n, Call call) {
        for (std::size_t end = first + n; first < end;) {
            const std::size_t in_word = first % 64;
            const std::size_t k = 64 - in_word < end - first ? 64 - in_word : end - first;
            call(first / 64, run_mask(in_word, k));
            first += k;
        }
    }

  private:
    using word = std::atomic<std::uint64_t>;
    static constexpr std::uint64_t bit(std::size_t at) noexcept { return std::uint64_t{1} << (at % 64); }

    // The first free page of words that full_ does not say are full. That is a hint: a word that has no free page is
    // marked, and the search goes on. Requires the lock; other threads may give pages meanwhile.
    std::size_t find_one_from(std::size_t begin, std::size_t end) noexcept {
        for (std::size_t f = begin; f < end; ++f)
            for (std::uint64_t open; (open = ~full_[f].load()) != 0;) {
                const std::size_t w = f * 64 + static_cast<std::size_t>(std::countr_zero(open));
                const std::uint64_t free = ~words_[w].load();
                if (free == 0) {
                    mark_if_full(w);
                    continue;
                }
                low_.store(f, std::memory_order_relaxed);
                return w * 64 + static_cast<std::size_t>(std::countr_zero(free));
            }
        return none;
    }
    // give() clears the page first and the hint second, so the word is read again once the hint is set.
    void mark_if_full(std::size_t w) noexcept {
        if (~words_[w].load() != 0) return;
        full_[w / 64].fetch_or(bit(w));
        if (~words_[w].load() != 0) full_[w / 64].fetch_and(~bit(w));
    }

    word* words_ = nullptr;
    word* full_ = nullptr;
    std::size_t pages_ = 0;
    std::size_t word_count_ = 0;
    std::size_t full_count_ = 0;
    used_parts<256> used_;            // of words_
    std::atomic<std::size_t> low_{0}; // a hint: words of `full` below this one have no free page
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
