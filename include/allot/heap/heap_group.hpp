// The heaps of one row manager: those in use, those that have reported an empty page (noted heaps), and unused ones.
//
//   open() --> in use, with handles --close()--> closed --retire_if_idle()--> unused --open()--> in use
//
// A closed heap is in use as long as it has pages. An unused one is no longer walked; its memory serves the next heap
// of its kind, and is freed with the group: threads that released its last rows may still note it.
// Invariant: a heap is on the list of all heaps from add() to retire_if_idle(), and at most once on the list of noted
// heaps.
// Cost: O(1) for note(), add(), and open() expected; collect() visits noted heaps only, reclaim() visits the heaps in
// use. 3.25 KiB per heap, of the most that were in use at once.
// Threads: any. note() never waits. The caller of other members holds no heap lock.
// Source: HPCC roxiemem's checkLimit, 2010, without its walk over every heap.
#pragma once

#include <allot/config.hpp>
#include <allot/core/function_ref.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/heap/heap_config.hpp>
#include <allot/heap/heap_index.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sync/called_list.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/mpsc_stack.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class page_provider;

class heap_group {
  public:
    heap_group() = default;
    heap_group(const heap_group&) = delete;
    heap_group& operator=(const heap_group&) = delete;

    void add(heap_base& heap) noexcept {
        all_.add(all_lock_, heap);
        settle_shut(heap);
    }
    template <class Visit> void for_each(Visit visit) const { all_.for_each(all_lock_, visit); }

    // Counts one more handle of a heap with this config: one with room for it, an unused or a new one. Null: no memory.
    template <class Heap>
    Heap* open(page_provider& provider, const heap_config& config, detail::memory_request& asked) noexcept {
        return static_cast<Heap*>(open(config, [&]() noexcept -> heap_base* {
            auto* const made = new (std::nothrow) Heap(provider, config);
            return made != nullptr ? made : asked.refuse(charge_outcome::no_memory, sizeof(Heap));
        }));
    }
    // Counts one fewer. After the last one the heap keeps no empty page.
    ALLOT_OUTLINE_WARM void close(heap_base& heap) noexcept {
        {
            const detail::lock_guard hold(open_lock_);
            if (!heap.config().exclusive) set_indexed(heap, true);
            if (heap.handles.fetch_sub(1, std::memory_order_relaxed) != 1) return;
            heap.set_abandoned(true);
        }
        heap.return_all();
        retire_if_idle(heap);
    }

    // Requests for rows of the group that wait: slots that return to pages are reported (page_provider.hpp).
    std::atomic<std::uint32_t>& waiting() noexcept { return waiting_; }
    // Call after the atomic operation, or in the lock, that freed a slot.
    bool is_waited_for() const noexcept { return waiting_.load(std::memory_order_seq_cst) != 0; }
    bool is_shut() const noexcept { return shut_.load(std::memory_order_seq_cst); }
    // While it is shut, releases go past all caches but those of handles, so that pages become empty. One thread at a
    // time, without a lock. Returns: whether these caches are empty.
    bool set_shut(bool now) noexcept {
        shut_.store(now, std::memory_order_seq_cst);
        for_each([this](heap_base& heap) { settle_shut(heap); });
        const bool are_empty = !has_thread_caches() || thread_caches_->set_shut(threads_, now);
        if (now) for_each([](heap_base& heap) { heap.flush_shared(); });
        return are_empty;
    }

    // Puts the heap on the list of noted heaps; call when one of its pages became empty. seq_cst: is_shut() follows.
    void note(heap_base& heap) noexcept {
        if (!heap.noted.exchange(true, std::memory_order_seq_cst)) noted_.push(&heap);
    }
    // Returns the empty pages of noted heaps to the arena; and where slots in caches keep most pages of one, empties
    // its shared caches and those of all threads first. Returns the number of pages.
    ALLOT_OUTLINE_WARM std::size_t collect() noexcept {
        if (noted_.empty()) return 0;
        std::size_t pages = 0;
        bool are_empty = false; // the caches of all threads
        for (heap_base* heap = noted_.take_all(); heap != nullptr;) {
            heap_base* const following = heap->empty_link.load(std::memory_order_relaxed);
            // Clear the flag by an exchange, before reclaim(): a page noted earlier is seen by reclaim(), a page noted
            // later puts the heap on the list again.
            heap->noted.exchange(false, std::memory_order_acq_rel);
            pages += heap->reclaim(false);
            if (ALLOT_UNLIKELY(heap->pins_pages())) {
                if (has_thread_caches() && !std::exchange(are_empty, true)) thread_caches_->empty(threads_);
                pages += heap->reclaim(true);
            }
            retire_if_idle(*heap);
            heap = following;
        }
        return pages;
    }
    // Reclaims every heap. Returns the number of pages returned to the arena.
    ALLOT_OUTLINE_WARM std::size_t reclaim(bool forced) noexcept {
        if (forced) shortages_.fetch_add(1, std::memory_order_relaxed);
        std::size_t pages = 0;
        for_each([&](heap_base& heap) {
            pages += heap.reclaim(forced);
            retire_if_idle(heap);
        });
        return pages;
    }
    // The same, after the caches of all threads were emptied.
    std::size_t reclaim_all() noexcept {
        if (has_thread_caches()) thread_caches_->empty(threads_);
        return reclaim(true);
    }
    // How the caches of all threads are emptied, or shut (sync/thread_cache_registry.hpp).
    struct thread_caches {
        void (*empty)(void* threads) noexcept;
        bool (*set_shut)(void* threads, bool now) noexcept;
    };
    // Call before another thread uses the group.
    void set_thread_caches(const thread_caches& how, void* threads) noexcept {
        thread_caches_ = &how;
        threads_ = threads;
    }
    bool has_thread_caches() const noexcept { return thread_caches_ != nullptr; }

    // Forced reclaims so far. Handles compare it with the last number that they saw, and empty their caches.
    std::uint32_t shortages() const noexcept { return shortages_.load(std::memory_order_relaxed); }

    // Returns all pages, live rows included, and deletes all heaps. No other thread may use the group.
    ALLOT_OUTLINE_WARM void delete_all() noexcept {
        while (heap_base* const heap = all_.pop(all_lock_)) {
            heap->drop_pages();
            delete heap;
        }
        unused_.delete_all();
    }

  private:
    static std::uint64_t key_of(const heap_config& config) noexcept {
        const auto kind = reinterpret_cast<std::uintptr_t>(config.ops);
        return (std::uint64_t{config.type_id} << 40 ^ std::uint64_t{config.row_bytes} << 16 ^ kind) + config.align;
    }
    ALLOT_OUTLINE_WARM heap_base* open(const heap_config& config, detail::function_ref<heap_base*()> make) noexcept {
        const std::uint64_t key = key_of(config);
        const detail::lock_guard hold(open_lock_);
        heap_base* found = index_.find(key, [&](heap_base& heap) { return heap.config() == config; });
        if (found == nullptr) {
            found = reuse(config);
            if (found == nullptr) found = make();
            if (found == nullptr) return nullptr;
            found->index_key = key;
            set_indexed(*found, !config.exclusive);
        }
        const std::uint32_t handles = found->handles.fetch_add(1, std::memory_order_relaxed) + 1;
        if (handles == config.users) set_indexed(*found, false);
        found->set_abandoned(false);
        return found;
    }
    // An unused heap of this kind, or null. Requires open_lock_.
    heap_base* reuse(const heap_config& config) noexcept {
        heap_base* const unused = unused_.pop(config.ops);
        if (unused == nullptr) return nullptr;
        if (!unused->configure(config))
            return unused_.push(*unused), nullptr; // another thread is still walking over it
        unused->unused = false;
        add(*unused);
        return unused;
    }
    // All are settled after a change of shut_, and a new heap after its add(): the last one leaves each as it must
    // be.
    void settle_shut(heap_base& heap) noexcept {
        const detail::lock_guard hold(shut_lock_);
        heap.set_shut(shut_.load(std::memory_order_seq_cst));
    }
    // Requires open_lock_.
    ALLOT_OUTLINE_WARM void set_indexed(heap_base& heap, bool now) noexcept {
        if (heap.indexed == now) return;
        heap.indexed = now;
        if (now) index_.add(heap);
        else index_.remove(heap);
    }
    // Takes a closed heap without pages off the list of all heaps.
    ALLOT_OUTLINE_WARM void retire_if_idle(heap_base& heap) noexcept {
        if (!heap.is_idle()) return;
        const detail::lock_guard hold(open_lock_);
        if (heap.unused || !heap.is_idle()) return;
        heap.unused = true;
        set_indexed(heap, false);
        all_.take_off(all_lock_, heap); // a walk may still be at it: it lives as long as the group
        unused_.push(heap);
    }

    mutable called_list<heap_base, &heap_base::in_group> all_; // those in use
    mutable spin_lock all_lock_;
    const thread_caches* thread_caches_ = nullptr;
    void* threads_ = nullptr;
    std::atomic<std::uint32_t> shortages_{0}, waiting_{0};
    std::atomic<bool> shut_{false};
    spin_lock shut_lock_;
    mpsc_stack<heap_base, &heap_base::empty_link> noted_;
    basic_spin_lock<lock_rank::heap_group> open_lock_; // the members below, and handles being opened and closed
    detail::heap_index index_;
    detail::unused_heaps unused_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
