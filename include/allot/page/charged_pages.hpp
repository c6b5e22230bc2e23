// Pages of an arena, charged to a ledger: charge, take, confirm. A failed take never counts in the peak.
//
// Invariant: charged bytes = pages held x page size, and never exceed the ledger's limit.
// Cost: two references; O(1) per call. Threads: any.
#pragma once

#include <allot/account/memory_request.hpp>
#include <allot/account/pending_charge.hpp>
#include <allot/config.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/watch/event_ring.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

template <class Ledger> class charged_pages {
  public:
    // For callers that do not track pages in transit.
    struct untracked {
        static void begin() noexcept {}
        static void end() noexcept {}
    };

    static constexpr bool traces =
        requires(Ledger& ledger) { ledger.recorder().record(watch_event::reclaimed, std::size_t{0}, ""); };
    static constexpr bool watched = traces || requires(Ledger& ledger) { ledger.recorder().at_peak(); };

    static constexpr bool notifies = requires(Ledger& ledger) { ledger.notify_unused(); };

    charged_pages(page_arena& arena, Ledger& ledger) noexcept : arena_(arena), ledger_(ledger) {}

    page_arena& arena() const noexcept { return arena_; }

    // One attempt at a run of pages; null, with nothing changed, if the limit or the arena refuses. `move` is in
    // progress on success, else ended.
    template <class Move> std::byte* take(std::size_t pages, detail::memory_request& asked, Move&& move) noexcept {
        arena_.trim_others();
        return charged(pages, asked, move, [&] { return arena_.take(pages, asked); });
    }
    // The same for pages that get() takes; it returns false or null where they are refused.
    template <class Move, class Get>
    ALLOT_ALWAYS_INLINE auto charged(std::size_t pages, detail::memory_request& asked, Move& move, Get get) noexcept
        -> decltype(get()) {
        const std::size_t bytes = bytes_of(pages);
        // Other threads wait for moves to end, and a charge may call listeners or wait for other requests. So a move
        // begins before the charge only if the ledger calls no listeners.
        if constexpr (!calls_listeners) move.begin();
        detail::pending_charge<Ledger> charge{ledger_};
        if (!charge.hold(bytes, asked)) {
            if constexpr (!calls_listeners) move.end();
            return {};
        }
        if constexpr (calls_listeners) move.begin();
        [[maybe_unused]] const std::size_t returned = traces ? arena_.returned() : 0;
        const auto got = get();
        if constexpr (traces)
            if (const std::size_t more = arena_.returned() - returned; more != 0) record(watch_event::trimmed, more);
        if (got) return charge.confirm(), got;
        if constexpr (calls_listeners) move.end(); // cancel() calls listeners
        charge.cancel();
        if constexpr (!calls_listeners) move.end();
        return {};
    }
    // Gives a run of pages back to the arena, then refunds it.
    void give(std::byte* first, std::size_t pages) noexcept {
        arena_.give(first, pages);
        refund(pages);
    }
    template <class OnRefunded> void give(std::byte* first, std::size_t pages, OnRefunded on_refunded) noexcept {
        arena_.give(first, pages);
        refund(pages, on_refunded);
    }
    // Refunds pages that returned to the arena. Calls on_refunded() once other threads can take and charge them,
    // before any listener is called.
    void refund(std::size_t pages) noexcept { ledger_.refund(bytes_of(pages)); }
    template <class OnRefunded> void refund(std::size_t pages, OnRefunded on_refunded) noexcept {
        if constexpr (calls_listeners) {
            ledger_.refund(bytes_of(pages), on_refunded);
        } else {
            ledger_.refund(bytes_of(pages));
            on_refunded();
        }
    }
    // Call when pages or slots became unused, or may have: requests of the account may wait for them.
    void notify_unused() noexcept {
        if constexpr (notifies) full_fence(), ledger_.notify_unused(); // after the change
    }
    // Call once taken pages are in use, with no heap lock held; lets the peak recorder run.
    void settled() noexcept {
        if constexpr (requires { ledger_.settled(); }) ledger_.settled();
    }
    // Adds an event to the trace; no code in a set without one. `name` must live as long as the ledger.
    void record([[maybe_unused]] watch_event kind, [[maybe_unused]] std::size_t bytes,
                [[maybe_unused]] const char* name = "") noexcept {
        if constexpr (traces) ledger_.recorder().record(kind, bytes, name);
    }

  private:
    static constexpr bool calls_listeners = requires { Ledger::calls_listeners; };

    std::size_t bytes_of(std::size_t pages) const noexcept { return pages << arena_.page_shift(); }

    page_arena& arena_;
    Ledger& ledger_;
};

} // namespace allot::inline ALLOT_ABI
