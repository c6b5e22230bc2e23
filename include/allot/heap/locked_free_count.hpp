// Slots of a page that were freed under the heap's lock and are not in the page's state word yet (locked frees).
//
// The lock's holder counts here with plain operations and claims from here first, so a heap used by one thread does not
// touch the atomic word. The count is flushed to the word when the page is to be listed or is empty, also because of
// releases by other threads, and when it must make room: at most 128 pages of a heap have locked frees.
// Invariant: a page with locked frees is in its heap's `pages_with_locked_frees`, and its state word has the flag
// `locked_frees`. A releaser without the lock that sees the flag notes the heap: the page may be empty.
// Cost: 12 bytes per page and 1 KiB per heap; an addition and a comparison per slot. Threads: the holder of the heap's
// lock. Source: mimalloc's local and shared free counts of a page, 2019.
#pragma once

#include <allot/config.hpp>
#include <allot/slots/state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct locked_free_count {
    std::uint32_t slots = 0;
    std::uint32_t check_at = 1;   // value of `slots` at which add() asks for a flush
    std::uint32_t list_index = 0; // 1 + index in pages_with_locked_frees; 0: not in it

    // True: call page_queues::flush_or_defer().
    ALLOT_ALWAYS_INLINE bool add(std::uint32_t n) noexcept { return (slots += n) >= check_at; }
    // Takes up to n slots off; returns the rest, which the state word must be reduced by.
    std::uint32_t claim(std::uint32_t n) noexcept {
        const std::uint32_t mine = n < slots ? n : slots;
        slots -= mine;
        return n - mine;
    }
    // The page may be due before check_at: its state word lost a flag.
    void check_next() noexcept { check_at = 1; }
    // Sets check_at; false if a flush is due now.
    bool defer(const slot_state& state, std::uint32_t threshold, std::uint32_t whole) noexcept {
        const std::int64_t due = state.due(threshold, whole) - state.freed();
        check_at = due > 0 ? static_cast<std::uint32_t>(due) : 1;
        return due > static_cast<std::int64_t>(slots);
    }
};

// The pages of a heap with locked frees, at most 128, so that a search for one whose frees are to be counted is quick.
// A ring: every eighth new page displaces the oldest. The others are counted at once: one locked operation, where
// displacing takes two.
template <class Page> class pages_with_locked_frees {
  public:
    static constexpr std::size_t capacity = 128;

    static bool has(const Page& p) noexcept { return p.locked_frees.list_index != 0; }
    // Whether the next add() displaces a page.
    bool is_full() const noexcept { return pages_[next_] != nullptr; }
    // That page: flush it first. Requires is_full(), as the next one.
    Page* displaced() const noexcept { return pages_[next_]; }
    bool count_and_may_displace() noexcept { return ++refused_ % 8 == 0; }
    void add(Page& p) noexcept {
        pages_[next_] = &p;
        p.locked_frees.list_index = static_cast<std::uint32_t>(next_) + 1;
        next_ = (next_ + 1) % capacity;
    }
    void remove(Page& p) noexcept {
        pages_[p.locked_frees.list_index - 1] = nullptr;
        p.locked_frees.list_index = 0;
    }
    // The first page for which is(page) is true, or null. Goes on where the last call ended; looks at `places` places.
    template <class Is> Page* find(Is is, std::size_t places = capacity) noexcept {
        for (std::size_t i = 0; i != places; ++i) {
            Page* const p = pages_[found_ = (found_ + 1) % capacity];
            if (p != nullptr && is(*p)) return p;
        }
        return nullptr;
    }

  private:
    std::array<Page*, capacity> pages_{};
    std::size_t next_ = 0;
    std::size_t found_ = 0;
    std::uint32_t refused_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
