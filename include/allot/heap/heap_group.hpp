// The heaps of one row manager, and a list of those that have reported an empty page (noted heaps).
//
// Invariant: a heap is on the list of all heaps from add() on, and at most once on the list of noted heaps.
// Cost: O(1) for note() and add(); collect() visits noted heaps only, reclaim() visits all heaps.
// Threads: any. note() never waits. The caller of collect() and reclaim() holds no heap lock.
// Source: HPCC roxiemem's checkLimit, 2010, without its walk over every heap.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/sync/mpsc_stack.hpp>

#include <atomic>
#include <cstddef>

namespace allot::inline ALLOT_ABI {

class heap_group {
  public:
    heap_group() = default;
    heap_group(const heap_group&) = delete;
    heap_group& operator=(const heap_group&) = delete;

    void add(heap_base& heap) noexcept {
        heap.next = heaps_.load(std::memory_order_relaxed);
        while (!heaps_.compare_exchange_weak(heap.next, &heap, std::memory_order_release, std::memory_order_relaxed)) {
        }
    }
    template <class Visit> void for_each(Visit visit) const {
        for (heap_base* heap = heaps_.load(std::memory_order_acquire); heap != nullptr;) {
            heap_base* const following = heap->next; // the visitor may delete it
            visit(*heap);
            heap = following;
        }
    }

    // Puts the heap on the list of noted heaps; call when one of its pages became empty.
    void note(heap_base& heap) noexcept {
        if (!heap.noted.exchange(true, std::memory_order_acq_rel)) noted_.push(&heap);
    }
    // Returns the empty pages of noted heaps to the arena. Returns the number of pages.
    std::size_t collect() noexcept {
        if (noted_.empty()) return 0;
        std::size_t pages = 0;
        for (heap_base* heap = noted_.take_all(); heap != nullptr;) {
            heap_base* const following = heap->empty_link.load(std::memory_order_relaxed);
            // Clear the flag by an exchange, before reclaim(): a page noted earlier is seen by reclaim(), a page noted
            // later puts the heap on the list again.
            heap->noted.exchange(false, std::memory_order_acq_rel);
            pages += heap->reclaim(false);
            heap = following;
        }
        return pages;
    }
    // Reclaims every heap. Returns the number of pages returned to the arena.
    std::size_t reclaim(bool forced) noexcept {
        std::size_t pages = 0;
        for_each([&](heap_base& heap) { pages += heap.reclaim(forced); });
        return pages;
    }

  private:
    std::atomic<heap_base*> heaps_{nullptr};
    mpsc_stack<heap_base, &heap_base::empty_link> noted_;
};

} // namespace allot::inline ALLOT_ABI
