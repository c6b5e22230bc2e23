// The state word of a heaplet: how many of its slots are freed, and which lists of its heap it is on.
//
//   63      35        34        33      32     31                0
//   | unused | locked_frees | noted | listed | slots freed + 2^31 |
//
// The count is biased because it can be negative for a moment: a slot may be claimed before its releaser has counted
// it. `noted`: on the list of empty pages; `listed`: has space, on the space list, ready or current; `locked_frees`:
// the holder of the heap's lock has freed slots that the count does not have yet (heap/locked_free_count.hpp).
// Invariant: a releaser's update of this word is its last access to the page unless it sets `listed` or `noted`; a page
// with one of these flags stays until the list's consumer has seen it. So a page can be returned to the arena as soon
// as its consumer finds every slot freed.
// Cost: 8 bytes per heaplet; one compare-and-swap for all slots of a page that are freed together.
// Threads: add_freed() by any; everything else by the holder of the heap's lock.
// Source: Roxie's page count and space list (HPCC roxiemem, 2010), folded into one word.
#pragma once

#include <allot/config.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class slot_state {
  public:
    struct change {
        bool list;         // push the page on the heap's space list
        bool note;         // push the page on the heap's list of empty pages
        bool locked_frees; // more slots are freed than counted: the page may be empty
    };

    // Counts n slots as freed. The page is to be listed from `threshold` freed slots on, and is empty at `whole`: all
    // slots ever handed out. The caller must do what the result says.
    ALLOT_OUTLINE_WARM change add_freed(std::uint32_t n, std::uint32_t threshold, std::uint32_t whole) noexcept {
        std::uint64_t was = word_.load(std::memory_order_acquire);
        for (;;) {
            std::uint64_t now = was + n;
            const bool list = (was & listed) == 0 && count(now) >= static_cast<std::int64_t>(threshold);
            const bool note = (was & noted) == 0 && count(now) >= static_cast<std::int64_t>(whole);
            now |= (list ? listed : 0) | (note ? noted : 0);
            if (word_.compare_exchange_weak(was, now, std::memory_order_acq_rel, std::memory_order_acquire))
                return {list, note, (was & locked_frees) != 0};
        }
    }
    // The same for the n locked frees of the page, all of them; clears `locked_frees`. Requires the heap's lock.
    change flush_locked(std::uint32_t n, std::uint32_t threshold, std::uint32_t whole) noexcept {
        const std::uint64_t now = word_.fetch_sub(locked_frees - n, std::memory_order_acq_rel) - (locked_frees - n);
        return ALLOT_LIKELY(count(now) < due(now, threshold, whole)) ? change{} : add_freed(0, threshold, whole);
    }
    // Sets `locked_frees`: slots freed under the lock are not counted here from now on.
    void mark_locked_frees() noexcept { word_.fetch_or(locked_frees, std::memory_order_acq_rel); }
    // The count at which the page must be listed or noted next.
    std::int64_t due(std::uint32_t threshold, std::uint32_t whole) const noexcept {
        return due(word_.load(std::memory_order_acquire), threshold, whole);
    }

    // Takes n claimed slots off the count.
    void claim(std::uint32_t n) noexcept { word_.fetch_sub(n, std::memory_order_acq_rel); }

    // Sets `listed`; false: it was set.
    bool try_list() noexcept { return (word_.fetch_or(listed, std::memory_order_acq_rel) & listed) == 0; }

    // Clears `listed` unless `threshold` slots are freed; false: it stays listed.
    bool unlist_below(std::uint32_t threshold) noexcept {
        std::uint64_t was = word_.load(std::memory_order_acquire);
        do {
            if (count(was) >= static_cast<std::int64_t>(threshold)) return false;
        } while (
            !word_.compare_exchange_weak(was, was & ~listed, std::memory_order_acq_rel, std::memory_order_acquire));
        return true;
    }
    // True: all slots are freed, and the page stays noted. Otherwise clears `noted`.
    bool empty_or_unnote(std::uint32_t whole) noexcept {
        std::uint64_t was = word_.load(std::memory_order_acquire);
        do {
            if (count(was) >= static_cast<std::int64_t>(whole)) return true;
        } while (!word_.compare_exchange_weak(was, was & ~noted, std::memory_order_acq_rel, std::memory_order_acquire));
        return false;
    }

    void reset(bool is_listed) noexcept { word_.store(bias | (is_listed ? listed : 0), std::memory_order_release); }
    // Slots freed and counted; negative only while a claimed slot is not counted as freed yet.
    std::int64_t freed() const noexcept { return count(word_.load(std::memory_order_acquire)); }
    bool is_listed() const noexcept { return (word_.load(std::memory_order_acquire) & listed) != 0; }
    bool is_noted() const noexcept { return (word_.load(std::memory_order_acquire) & noted) != 0; }

  private:
    static std::int64_t due(std::uint64_t now, std::uint32_t threshold, std::uint32_t whole) noexcept {
        std::int64_t at = (now & noted) != 0 ? std::int64_t{bias} : whole; // bias: more than any count
        if ((now & listed) == 0 && threshold < at) at = threshold;
        return at;
    }
    static constexpr std::int64_t count(std::uint64_t word) noexcept {
        return static_cast<std::int64_t>(static_cast<std::uint32_t>(word)) - static_cast<std::int64_t>(bias);
    }
    static constexpr std::uint64_t bias = std::uint64_t{1} << 31;
    static constexpr std::uint64_t listed = std::uint64_t{1} << 32;
    static constexpr std::uint64_t noted = std::uint64_t{1} << 33;
    static constexpr std::uint64_t locked_frees = std::uint64_t{1} << 34;
    std::atomic<std::uint64_t> word_{bias};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
