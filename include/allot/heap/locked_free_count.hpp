// Slots of a page that were given back under the heap's lock, and that the page's state word has not been told of.
//
// The lock's holder counts here by plain operations, and claims from here first, so a heap that one thread uses does
// not touch the atomic word. The word is told when a change is due (slots enough to list the page, or all of them),
// when the heap finds no slots elsewhere, before pages are collected, and when too many pages mark_locked_frees.
// Invariant: a page whose count is not 0 stands among the `pages_with_locked_frees` of its heap, and its state word says so:
// whoever gives slots back without the lock then notes the heap, for he cannot see whether the page is empty now.
// Cost: 12 bytes a page and 272 a heap; an addition and a comparison a slot. Threads: the holder of the heap's lock.
// Source: thread-local and shared counts of a page: mimalloc, 2019; here of the lock's holder and all others.
#pragma once

#include <allot/config.hpp>
#include <allot/slots/state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

struct locked_free_count {
    std::uint32_t slots = 0;
    std::uint32_t check_at = 1;   // slots to look at the state word again
    std::uint32_t list_index = 0; // among the owing pages; 0: none

    // True when it is to be looked at.
    ALLOT_ALWAYS_INLINE bool add(std::uint32_t n) noexcept { return (slots += n) >= check_at; }
    // Takes n away; what is left is to be taken from the state word.
    std::uint32_t claim(std::uint32_t n) noexcept {
        const std::uint32_t mine = n < slots ? n : slots;
        slots -= mine;
        return n - mine;
    }
    // Sets when to look next; false when a change is due now.
    bool defer(const slot_state& state, std::uint32_t threshold, std::uint32_t whole) noexcept {
        const std::int64_t due = state.due(threshold, whole) - state.freed();
        check_at = due > 0 ? static_cast<std::uint32_t>(due) : 1;
        return due > static_cast<std::int64_t>(slots);
    }
};

// The pages that mark_locked_frees their state words a count: so few that telling them all is a short step.
template <class Page> class pages_with_locked_frees {
  public:
    static constexpr std::size_t capacity = 32;

    static bool has(const Page& p) noexcept { return p.locked_frees.list_index != 0; }
    // The page that had to make room, or null: it is still there.
    Page* displaced() const noexcept { return pages_[next_]; }
    // After displaced() was told.
    void add(Page& p) noexcept {
        pages_[next_] = &p;
        p.locked_frees.list_index = static_cast<std::uint32_t>(next_) + 1;
        next_ = (next_ + 1) % capacity;
        ++size_;
    }
    void remove(Page& p) noexcept {
        pages_[p.locked_frees.list_index - 1] = nullptr;
        p.locked_frees.list_index = 0;
        --size_;
    }
    bool empty() const noexcept { return size_ == 0; }
    template <class Visit> void for_each(Visit visit) noexcept {
        for (Page* const p : pages_)
            if (p != nullptr) visit(*p);
    }
    void clear() noexcept { *this = pages_with_locked_frees(); }

  private:
    std::array<Page*, capacity> pages_{};
    std::size_t next_ = 0;
    std::size_t size_ = 0;
};

} // namespace allot::inline ALLOT_ABI
