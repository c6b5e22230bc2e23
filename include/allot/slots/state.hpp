// The one word that tells how a heaplet stands: how many of its slots were given back, and on which lists it is.
//
//   63        35    34     33       32  31                 0
//   |  unused | locked_frees | noted | listed | slots given back + 2^31 |
//
// The count is biased because a slot may be claimed by the next user before its releaser has counted it: the
// count is then below zero for a moment, and cannot be `whole` before every releaser is through. `locked_frees`: the
// holder of the heap's lock has more slots that were given back (heap/locked_free_count.hpp) and that the count does
// not have yet.
// Invariant: a releaser's change of this word is its last access to the page unless it set a flag here; a page
// whose `noted` or `listed` flag is set stays until the list's consumer has seen it. So a page can be returned
// to the arena as soon as its consumer finds every slot given back, with no releaser still inside it.
// Cost: 8 bytes a heaplet; one compare-and-swap for all slots of a page that are given back together.
// Threads: `give_back` by any thread; everything else by the holder of the heap's lock.
// Source: Roxie's page count and space list (HPCC roxiemem, 2010), folded into one word.
#pragma once

#include <allot/config.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class slot_state {
  public:
    struct change {
        bool list;         // the caller must push the page on the heap's space list
        bool note;         // the caller must push the page on the heap's list of empty pages
        bool locked_frees; // there are more, so it may be empty
    };

    // Counts n slots as given back. `threshold` slots make the page worth listing, `whole` make it empty.
    change add_freed(std::uint32_t n, std::uint32_t threshold, std::uint32_t whole) noexcept {
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
    // The same for the lock's holder, who locked_frees and owes no more then. Mostly that changes no list.
    change flush_locked(std::uint32_t n, std::uint32_t threshold, std::uint32_t whole) noexcept {
        const std::uint64_t now = word_.fetch_sub(locked_frees - n, std::memory_order_acq_rel) - (locked_frees - n);
        return ALLOT_LIKELY(count(now) < due(now, threshold, whole)) ? change{} : add_freed(0, threshold, whole);
    }
    // The lock's holder owes from now on.
    void mark_locked_frees() noexcept { word_.fetch_or(locked_frees, std::memory_order_acq_rel); }
    // Slots given back that would change what lists the page is on.
    std::int64_t due(std::uint32_t threshold, std::uint32_t whole) const noexcept {
        return due(word_.load(std::memory_order_acquire), threshold, whole);
    }

    // The lock's holder claims n slots that were given back.
    void claim(std::uint32_t n) noexcept { word_.fetch_sub(n, std::memory_order_acq_rel); }

    // Marks the page as listed; false when it is already.
    bool try_list() noexcept { return (word_.fetch_or(listed, std::memory_order_acq_rel) & listed) == 0; }

    // Takes the page off the space list unless `threshold` slots came back meanwhile; false: it stays listed.
    bool unlist_below(std::uint32_t threshold) noexcept {
        std::uint64_t was = word_.load(std::memory_order_acquire);
        do {
            if (count(was) >= static_cast<std::int64_t>(threshold)) return false;
        } while (
            !word_.compare_exchange_weak(was, was & ~listed, std::memory_order_acq_rel, std::memory_order_acquire));
        return true;
    }
    // True when the whole page is free; then it stays noted. Otherwise the note is cleared.
    bool empty_or_unnote(std::uint32_t whole) noexcept {
        std::uint64_t was = word_.load(std::memory_order_acquire);
        do {
            if (count(was) >= static_cast<std::int64_t>(whole)) return true;
        } while (!word_.compare_exchange_weak(was, was & ~noted, std::memory_order_acq_rel, std::memory_order_acquire));
        return false;
    }

    void reset(bool is_listed) noexcept { word_.store(bias | (is_listed ? listed : 0), std::memory_order_release); }
    // Below zero only while a slot that was claimed is not counted as given back yet.
    std::int64_t freed() const noexcept { return count(word_.load(std::memory_order_acquire)); }
    bool is_listed() const noexcept { return (word_.load(std::memory_order_acquire) & listed) != 0; }
    bool is_noted() const noexcept { return (word_.load(std::memory_order_acquire) & noted) != 0; }

  private:
    static std::int64_t due(std::uint64_t now, std::uint32_t threshold, std::uint32_t whole) noexcept {
        std::int64_t at = (now & noted) != 0 ? std::int64_t{bias} : whole; // bias: more than there can be
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

} // namespace allot::inline ALLOT_ABI
