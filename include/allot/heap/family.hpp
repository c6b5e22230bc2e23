// The heaps that share one limit and one arena: where they get their pages, and whom they ask when there are none.
//
// A page request first returns the empty pages of heaps that have told about one (never a walk over all heaps),
// then charges, then takes. Only when that fails are all heaps asked to give up what they can, once.
// Invariant: charged bytes = pages held x page size, and never exceed the ledger's limit.
// Cost of a page: O(1) whatever the number of heaps, unless memory is short. Threads: any; no lock of a heap may
// be held by the caller of take(). Release pushes on the list of noted heaps, which never waits.
// Source: HPCC roxiemem's checkLimit, 2010, without its walk over every heap.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/page/arena_base.hpp>
#include <allot/page/arena_holder.hpp>
#include <allot/sync/mpsc_stack.hpp>
#include <allot/watch/event_ring.hpp>

#include <atomic>
#include <cstddef>

namespace allot::inline ALLOT_ABI {

template <class Ledger> class heap_family {
  public:
    heap_family(arena_base& arena, Ledger& ledger) noexcept : arena_(arena), ledger_(ledger) {}
    heap_family(const heap_family&) = delete;
    heap_family& operator=(const heap_family&) = delete;

    arena_base& arena() const noexcept { return arena_; }
    Ledger& ledger() const noexcept { return ledger_; }
    std::size_t page_bytes() const noexcept { return std::size_t{1} << arena_.page_shift(); }

    // Who does not follow pages on their way.
    struct unfollowed {
        static void begin() noexcept {}
        static void end() noexcept {}
    };
    // Null when neither the limit nor the arena allows it, after everything else was tried. `move` begins before pages
    // are charged or taken; it has ended where there are none.
    template <class Move> std::byte* take(std::size_t pages, Move&& move) noexcept {
        collect();
        if (std::byte* const p = try_take(pages, move)) return p;
        record(watch_event::reclaimed, reclaim(true) << arena_.page_shift());
        if (std::byte* const p = try_take(pages, move)) return p;
        // The others who share the arena are asked only when it is the arena that is short.
        if (!ledger_.fits(pages << arena_.page_shift())) return nullptr;
        arena_.ask_holders(); // where none came back, somebody else may have given some meanwhile
        return try_take(pages, move);
    }
    std::byte* take(std::size_t pages) noexcept { return take(pages, unfollowed{}); }
    // The pages behind a run that was taken, charged, too; false: nothing has changed.
    template <class Move> bool grow(std::byte* first, std::size_t now, std::size_t pages, Move& move) noexcept {
        return charged((pages - now) << arena_.page_shift(), move, [&] { return arena_.grow_up(first, now, pages); });
    }
    // What was taken stands where it is used, and no lock of a heap is held: who watches the peak may look now.
    // For a trace, where the set keeps one; no code otherwise. `name` must live as long as the family's manager.
    void record([[maybe_unused]] watch_event kind, [[maybe_unused]] std::size_t bytes,
                [[maybe_unused]] const char* name = "") noexcept {
        if constexpr (traces) ledger_.recorder().record(kind, bytes, name);
    }
    void settled() noexcept {
        if constexpr (requires { ledger_.settled(); }) ledger_.settled();
    }
    void give(std::byte* first, std::size_t pages) noexcept {
        arena_.give(first, pages);
        ledger_.refund(pages << arena_.page_shift());
    }
    // The same; `landed` is called when others can have them, before listeners are.
    template <class Landed> void give(std::byte* first, std::size_t pages, Landed landed) noexcept {
        const std::size_t bytes = pages << arena_.page_shift();
        arena_.give(first, pages);
        if constexpr (calls_listeners) {
            ledger_.refund(bytes, landed);
        } else {
            ledger_.refund(bytes);
            landed();
        }
    }

    // The heap has a page that became empty.
    void note(heap_base& heap) noexcept {
        if (!heap.noted.exchange(true, std::memory_order_acq_rel)) noted_.push(&heap);
    }
    // Returns the empty pages of the heaps that told about one.
    std::size_t collect() noexcept {
        if (noted_.empty()) return 0;
        std::size_t pages = 0;
        for (heap_base* heap = noted_.take_all(); heap != nullptr;) {
            heap_base* const following = heap->empty_link.load(std::memory_order_relaxed);
            // An exchange: who found the note before it has its page seen by the reclaim below, who comes after notes
            // anew.
            heap->noted.exchange(false, std::memory_order_acq_rel);
            pages += heap->reclaim(false);
            heap = following;
        }
        return pages;
    }
    // Asks every heap; returns the pages given back.
    std::size_t reclaim(bool forced) noexcept {
        std::size_t pages = 0;
        for_each([&](heap_base& heap) { pages += heap.reclaim(forced); });
        return pages;
    }

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

  private:
    static constexpr bool calls_listeners = requires { Ledger::calls_listeners; };
    static constexpr bool traces =
        requires(Ledger& ledger) { ledger.recorder().record(watch_event::reclaimed, std::size_t{0}, ""); };

    // What `get` gets for these bytes; false (null), and nothing is charged, where they do not fit or it gets nothing.
    template <class Move, class Get>
    ALLOT_ALWAYS_INLINE auto charged(std::size_t bytes, Move& move, Get get) noexcept -> decltype(get()) {
        // Not in a call of a listener: others wait for a move. Who would be refused for what is held in a tree waits
        // there.
        if constexpr (!calls_listeners) move.begin();
        if (!ledger_.try_charge(bytes)) {
            if constexpr (!calls_listeners) move.end();
            return {};
        }
        if constexpr (calls_listeners) move.begin();
        const auto got = get();
        if (got) return ledger_.confirm(bytes), got;
        if constexpr (calls_listeners) move.end(); // they hear of it
        ledger_.cancel(bytes);
        if constexpr (!calls_listeners) move.end();
        return {};
    }
    template <class Move> std::byte* try_take(std::size_t pages, Move& move) noexcept {
        return charged(pages << arena_.page_shift(), move, [&] {
            [[maybe_unused]] const std::size_t returned = traces ? arena_.returned() : 0;
            std::byte* const p = arena_.take(pages);
            if constexpr (traces)
                if (const std::size_t more = arena_.returned() - returned; more != 0)
                    record(watch_event::trimmed, more);
            return p;
        });
    }

    arena_base& arena_;
    Ledger& ledger_;
    std::atomic<heap_base*> heaps_{nullptr};
    mpsc_stack<heap_base, &heap_base::empty_link> noted_;
};

} // namespace allot::inline ALLOT_ABI
