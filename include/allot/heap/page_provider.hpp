// What heaps ask for pages. One class for every ledger, so that heaps are no templates over who is charged.
//
// Invariant: every page that a heap holds came from take() and goes back through give().
// Cost: one virtual call per page, or per handle that is opened; none per row.
// Threads: any. The caller holds no lock of a heap, except for give(), which a heap may call under its own.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/heap_group.hpp>
#include <allot/page/arena_base.hpp>
#include <allot/watch/event_ring.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

class page_provider {
  public:
    page_provider(const page_provider&) = delete;
    page_provider& operator=(const page_provider&) = delete;

    arena_base& arena() const noexcept { return arena_; }
    std::size_t page_bytes() const noexcept { return std::size_t{1} << arena_.page_shift(); }
    heap_group& heaps() noexcept { return heaps_; }
    const heap_group& heaps() const noexcept { return heaps_; }

    // A run of pages; null when neither the limit nor the arena allows it, after empty pages were reclaimed.
    virtual std::byte* take(std::size_t pages) noexcept = 0;
    virtual void give(std::byte* first, std::size_t pages) noexcept = 0;
    // Call once the pages of a take() are in use; lets the peak recorder run. The caller holds no lock of a heap.
    void settled() noexcept {
        if (ALLOT_UNLIKELY(watched_)) note_settled();
    }
    // Adds an event to the trace, where the set keeps one. `name` must live as long as the row manager.
    void record(watch_event kind, std::size_t bytes, const char* name = "") noexcept {
        if (ALLOT_UNLIKELY(watched_)) note_event(kind, bytes, name);
    }

  protected:
    // `watched`: someone looks at what is settled or recorded.
    page_provider(arena_base& arena, bool watched) noexcept : arena_(arena), watched_(watched) {}
    ~page_provider() = default;

  private:
    virtual void note_settled() noexcept = 0;
    virtual void note_event(watch_event kind, std::size_t bytes, const char* name) noexcept = 0;

    arena_base& arena_;
    const bool watched_;
    heap_group heaps_;
};

} // namespace allot::inline ALLOT_ABI
