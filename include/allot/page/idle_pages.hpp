// The state of retain::idle: which free pages of an arena were not used for a time span.
//
// Each page request does a step of a walk over the arena's words; one walk runs at a time. The walk clears the marks of
// pages that were given back since the walk before, and returns to the system the pages that have no mark. The next
// walk begins when the span has passed since the end of this one.
// Invariant: a page that is returned was free at two looks, at least the span apart, and not used between them. So a
// page is returned after one span at the earliest, and within two while page requests are frequent.
// Cost: per page request a clock read, at most 256 words and 8 pages returned; one bit per page.
// Threads: any; a thread that finds another one in the walk does nothing.
// Source: jemalloc's decay purging, 2014, without a thread; the two looks are the clock algorithm's, Corbato 1969.
#pragma once

#include <allot/config.hpp>
#include <allot/page/page_bitmap.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class idle_pages {
  public:
    static constexpr std::size_t words_per_step = 256;
    static constexpr int pages_per_step = 8;

    idle_pages(std::uint64_t after_ms, std::uint64_t (*now)() noexcept) noexcept
        : after_(after_ms * 1'000'000), now_(now) {}

    static std::size_t bytes_for(std::size_t pages) noexcept { return ceil_div(pages, std::size_t{64}) * sizeof(word); }
    // Requires bytes_for(pages) bytes of zeros.
    void start(std::byte* memory) noexcept { recently_used_ = reinterpret_cast<word*>(memory); }

    // Marks pages that were in use until now. Call before other threads can see them free.
    void used(std::size_t first, std::size_t n) noexcept {
        page_bitmap::for_words(first, n, [&](std::size_t w, std::uint64_t bits) {
            recently_used_[w].fetch_or(bits, std::memory_order_release);
        });
    }
    struct word_pages {
        std::size_t word = 0;
        std::uint64_t pages = 0;
    };
    // Does a step of a walk, if one is due. Returns the pages that are to return to the system, if any. `free(w)` is
    // the mask of a word's pages that are free and dirty.
    template <class Free> word_pages step(std::size_t words, Free free) noexcept {
        if (!walking_.try_lock()) return {};
        const lock_guard hold(walking_, adopt_lock);
        if (at_ == 0) {
            if (now_() < next_) return {};
            begins_.store(true, std::memory_order_relaxed);
        }
        for (std::size_t looked = 0; looked < words_per_step; ++looked) {
            if (at_ == 2 * words) {
                at_ = 0;
                next_ = now_() + after_;
                return {};
            }
            const std::size_t w = at_ / 2;
            if (at_ % 2 == 0) { // free(w) before the marks: a page given back between the two is still marked
                const std::uint64_t idle = free(w);
                to_return_ = idle & ~recently_used_[w].exchange(0, std::memory_order_acquire);
                ++at_;
            }
            std::uint64_t some = 0, left = to_return_ & free(w) & ~recently_used_[w].load(std::memory_order_acquire);
            for (int i = 0; i < pages_per_step && left != 0; ++i, left &= left - 1) some |= left & (0 - left);
            if (left == 0) ++at_;
            to_return_ = left;
            if (some != 0) return {w, some};
        }
        return {};
    }

    // Whether a walk has begun since the last call.
    bool has_begun() noexcept {
        return begins_.load(std::memory_order_relaxed) && begins_.exchange(false, std::memory_order_relaxed);
    }

  private:
    using word = std::atomic<std::uint64_t>;

    const std::uint64_t after_; // nanoseconds
    std::uint64_t (*const now_)() noexcept;
    std::atomic<bool> begins_{false};
    word* recently_used_ = nullptr;                  // pages given back since the last look at their word
    basic_spin_lock<lock_rank::idle_pages> walking_; // the members below
    std::uint64_t next_ = 0;                         // no walk begins before this time
    std::size_t at_ = 0;                             // 2 w: before word w; 2 w + 1: within it
    std::uint64_t to_return_ = 0;                    // pages of that word
};

// The state that an arena keeps for its retain policy: idle_pages under retain::idle, else nothing.
template <class Retain> struct idle_state {
    static constexpr bool enabled = false;
};
template <class Retain>
    requires requires { Retain::after; }
struct idle_state<Retain> : idle_pages {
    static constexpr bool enabled = true;
    idle_state() noexcept : idle_pages(Retain::after.ms, &Retain::clock::now) {}
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
