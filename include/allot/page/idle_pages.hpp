// Which free pages of an arena nobody used for a while: the state of retain::idle.
//
// Page requests walk over the arena's words, one walk at a time. A walk clears the marks of pages that were given since
// the walk before, and gives back those that have none; the next begins when the span has passed since its end.
// Invariant: what goes back was free at two enabled, the span or more apart, and not used between them. So a page goes
// back after the span at the earliest, and after two of them when page requests are many.
// Cost: a clock read and at most 256 words and 8 pages to the system a page request; one bit a page.
// Threads: any; whoever finds a walk under way does nothing.
// Source: jemalloc's decay purging, 2014, without a thread; the two enabled are the clock algorithm's, Corbato 1969.
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
    // `memory` is bytes_for(pages) of zeros.
    void start(std::byte* memory) noexcept { recently_used_ = reinterpret_cast<word*>(memory); }

    // These pages were in use until now; called before others can see them free.
    void used(std::size_t first, std::size_t n) noexcept {
        page_bitmap::for_words(first, n, [&](std::size_t w, std::uint64_t bits) {
            recently_used_[w].fetch_or(bits, std::memory_order_release);
        });
    }
    // A part of a walk, if one is due: `free(w)` tells which pages of a word are free and not given back,
    // `return_pages(w, pages)` gives them back, false when the system refuses.
    template <class Free, class GiveBack> void step(std::size_t words, Free free, GiveBack return_pages) noexcept {
        if (!walking_.try_lock()) return;
        const lock_guard hold(walking_, adopt_lock);
        if (at_ == 0 && now_() < next_) return;
        for (std::size_t looked = 0; looked < words_per_step; ++looked) {
            if (at_ == 2 * words) {
                at_ = 0;
                next_ = now_() + after_;
                return;
            }
            const std::size_t w = at_ / 2;
            if (at_ % 2 == 0) { // arrived at the word: who is free is asked first, so that a page given now is marked
                const std::uint64_t idle = free(w);
                to_return_ = idle & ~recently_used_[w].exchange(0, std::memory_order_acquire);
                ++at_;
            }
            std::uint64_t some = 0, left = to_return_ & free(w) & ~recently_used_[w].load(std::memory_order_acquire);
            for (int i = 0; i < pages_per_step && left != 0; ++i, left &= left - 1) some |= left & (0 - left);
            if (left == 0) ++at_;
            to_return_ = left;
            if (some != 0) {
                return_pages(w, some);
                return;
            }
        }
    }

  private:
    using word = std::atomic<std::uint64_t>;

    const std::uint64_t after_; // nanoseconds
    std::uint64_t (*const now_)() noexcept;
    word* recently_used_ = nullptr; // pages given since the last look at them
    spin_lock walking_;             // the members below
    std::uint64_t next_ = 0;        // when the next walk may begin
    std::size_t at_ = 0;            // 2 w: before word w; 2 w + 1: within it
    std::uint64_t to_return_ = 0;   // pages of that word to give back
};

// What an arena keeps for its answer to `retain`: nothing, unless it enabled for idle pages.
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
