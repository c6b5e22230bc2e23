// The interface that heaps take pages from. Virtual, so that heaps are not templates over the ledger.
//
// Invariant: every page that a heap holds came from take(), and returns by give(), or to the arena and by refund().
// Cost: one virtual call per page, or per handle that is opened; none per row.
// Threads: any. The caller holds no lock of a heap.
#pragma once

#include <allot/account/books.hpp>
#include <allot/config.hpp>
#include <allot/heap/heap_group.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/page/pages_in_transit.hpp>
#include <allot/page/regrow.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/watch/event_ring.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class page_provider {
  public:
    page_provider(const page_provider&) = delete;
    page_provider& operator=(const page_provider&) = delete;

    page_arena& arena() const noexcept { return arena_; }
    std::size_t page_bytes() const noexcept { return std::size_t{1} << arena_.page_shift(); }
    // Heaps and caches are books.
    const detail::books_of_object& books() const noexcept { return books_; }
    heap_group& heaps() noexcept { return heaps_; }
    const heap_group& heaps() const noexcept { return heaps_; }

    // One attempt at a run of pages; null if the limit or the arena refuses. On success `taken` is in progress: end it
    // once the pages are in use.
    virtual std::byte* take(std::size_t pages, detail::memory_request& asked,
                            detail::pages_in_transit::move& taken) noexcept = 0;
    // The same for pages of a run that gets another number of them: run.take().
    virtual bool take(detail::regrow& run, detail::memory_request& asked,
                      detail::pages_in_transit::move& taken) noexcept = 0;
    void give(std::byte* first, std::size_t pages) noexcept {
        arena_.give(first, pages);
        given(pages);
    }
    // The same for pages that were taken and are not needed; ends `taken`.
    ALLOT_OUTLINE_WARM void give(std::byte* first, std::size_t pages, detail::pages_in_transit::move& taken) noexcept {
        arena_.give(first, pages);
        given(pages, taken);
    }
    // Pages returned to the arena: refunds them, unless they stay charged as idle memory (charged_pages.hpp). The move
    // ends before a listener is called.
    virtual void given(std::size_t pages) noexcept = 0;
    virtual void given(std::size_t pages, detail::pages_in_transit::move& moved) noexcept = 0;
    // Bytes of free pages that stay charged.
    virtual std::size_t idle() const noexcept = 0;
    // Of these, what leaves at a shortage.
    virtual std::size_t leaves() const noexcept = 0;
    // Returns the arena's free pages to the system; in bytes.
    virtual std::size_t trim() noexcept = 0;
    // At a shortage of as many bytes: returns idle memory of the arena to the system, and refunds it. In bytes.
    virtual std::size_t trim_for(std::size_t bytes) noexcept = 0;
    detail::pages_in_transit& in_transit() noexcept { return in_transit_; }
    // The k-th way to return memory of the heaps that no row uses; false: there is no such way.
    bool return_idle(unsigned way) noexcept {
        if (way > 1 || (way == 1 && !heaps_.has_thread_caches())) return false;
        const std::size_t pages = way == 0 ? heaps_.reclaim(true) : heaps_.reclaim_all();
        record(watch_event::reclaimed, pages << arena_.page_shift());
        return true;
    }
    // Empties the caches of all threads and returns all empty pages, those too that other threads are just returning.
    // Returns the number of pages that this thread returned.
    ALLOT_OUTLINE_WARM std::size_t reclaim_all() noexcept {
        const std::size_t pages = heaps_.reclaim_all();
        detail::pages_in_transit::request{in_transit_}.wait();
        return pages;
    }
    // Before unused memory of the heaps serves a request: charged_pages.hpp says when and why.
    bool is_strained() const noexcept { return strain_.load(std::memory_order_relaxed) != 0; }
    virtual bool may_take(detail::memory_request& asked) noexcept = 0;
    virtual void took(const detail::memory_request& asked) noexcept = 0;
    // Whether requests may wait for memory of the heaps.
    bool notifies() const noexcept { return notifies_; }
    // Call when a page of the heap became empty, or may have: it is returned at the next shortage. Under any lock.
    ALLOT_OUTLINE_WARM void note_empty(heap_base& heap) noexcept {
        heaps_.note(heap);
        if (notifies_ || heaps_.is_shut()) notify_unused(); // shut: for requests of others, too
    }
    // Call when slots returned to a page: requests for rows may wait for them.
    ALLOT_OUTLINE_WARM void note_free_slots() noexcept {
        if (ALLOT_UNLIKELY(heaps_.is_waited_for())) notify_unused();
    }
    // Call where free slots have left their pages for a cache or a caller, with no lock held.
    ALLOT_ALWAYS_INLINE void note_claim() noexcept {
        if (ALLOT_UNLIKELY(in_transit_.wants_claims())) tell_claim();
    }
    // As heap_group::set_shut(); meanwhile a claim opens the caches, unless requests wait.
    bool set_shut(bool now) noexcept {
        in_transit_.count_listener(now);
        return heaps_.set_shut(now);
    }
    // Call once the pages of a take() are in use, with no lock held: see charged_pages.
    void settled() noexcept {
        if (ALLOT_UNLIKELY(watched_ || notifies_)) note_settled();
    }
    // Adds an event to the trace, if the set keeps one. `name` must live as long as the row manager.
    void record(watch_event kind, std::size_t bytes, const char* name = "") noexcept {
        if (ALLOT_UNLIKELY(watched_)) note_event(kind, bytes, name);
    }

  protected:
    // `watched`: the set records peaks or a trace; otherwise record() does nothing. `notifies`: it has an account.
    page_provider(page_arena& arena, const detail::books_of_object& books, const std::atomic<std::uint32_t>& strain,
                  bool watched, bool notifies) noexcept
        : arena_(arena), books_(books), strain_(strain), watched_(watched), notifies_(notifies) {}
    ~page_provider() = default;

  private:
    ALLOT_NOINLINE void tell_claim() noexcept {
        in_transit_.tell_claim();
        if (heaps_.is_shut()) open_caches();
    }
    virtual void open_caches() noexcept = 0;
    virtual void note_settled() noexcept = 0;
    virtual void notify_unused() noexcept = 0;
    virtual void note_event(watch_event kind, std::size_t bytes, const char* name) noexcept = 0;

    page_arena& arena_;
    const detail::books_of_object books_;
    const std::atomic<std::uint32_t>& strain_; // of the ledger
    const bool watched_, notifies_;
    heap_group heaps_;
    detail::pages_in_transit in_transit_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
