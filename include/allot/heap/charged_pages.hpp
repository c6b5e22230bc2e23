// Pages of an arena, charged to a ledger: charge, take, confirm. A failed take never counts in the peak.
//
// Invariant: charged bytes = pages held x page size, and never exceed the ledger's limit.
// Cost: two references; O(1) per call. Threads: any.
// Source: charge before use, as in Velox's memory pools, 2022.
#pragma once

#include <allot/config.hpp>
#include <allot/page/arena_base.hpp>
#include <allot/page/arena_client.hpp>
#include <allot/watch/event_ring.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

template <class Ledger> class charged_pages {
  public:
    // A move of pages that nobody follows.
    struct untracked {
        static void begin() noexcept {}
        static void end() noexcept {}
    };

    static constexpr bool traces =
        requires(Ledger& ledger) { ledger.recorder().record(watch_event::reclaimed, std::size_t{0}, ""); };
    static constexpr bool watched = traces || requires(Ledger& ledger) { ledger.recorder().at_peak(); };

    charged_pages(arena_base& arena, Ledger& ledger) noexcept : arena_(arena), ledger_(ledger) {}

    arena_base& arena() const noexcept { return arena_; }

    // A run of pages; null, and nothing has changed, when the limit or the arena refuses. After a first refusal
    // `reclaim` returns the caller's own free pages and their number; if the arena is what is short, its other users
    // are asked, too. `move` begins before pages are charged or taken; it has ended when the result is null.
    template <class Move, class Reclaim> std::byte* take(std::size_t pages, Move&& move, Reclaim reclaim) noexcept {
        if (std::byte* const p = try_take(pages, move)) return p;
        record(watch_event::reclaimed, bytes_of(reclaim()));
        if (std::byte* const p = try_take(pages, move)) return p;
        if (!ledger_.fits(bytes_of(pages))) return nullptr;
        arena_.ask_clients(); // even if none came back, another thread may have given some meanwhile
        return try_take(pages, move);
    }
    // Takes the pages behind a run. False: nothing has changed.
    template <class Move> bool grow(std::byte* first, std::size_t now, std::size_t pages, Move& move) noexcept {
        return charged(bytes_of(pages - now), move, [&] { return arena_.grow_up(first, now, pages); });
    }
    void give(std::byte* first, std::size_t pages) noexcept {
        arena_.give(first, pages);
        ledger_.refund(bytes_of(pages));
    }
    // Calls `landed` once other threads can take the pages, before any listener is called.
    template <class Landed> void give(std::byte* first, std::size_t pages, Landed landed) noexcept {
        arena_.give(first, pages);
        if constexpr (calls_listeners) {
            ledger_.refund(bytes_of(pages), landed);
        } else {
            ledger_.refund(bytes_of(pages));
            landed();
        }
    }
    // Call once taken pages are in use, with no lock of a heap held; lets the peak recorder run.
    void settled() noexcept {
        if constexpr (requires { ledger_.settled(); }) ledger_.settled();
    }
    // Adds an event to the trace; no code where the set keeps none. `name` must live as long as the ledger.
    void record([[maybe_unused]] watch_event kind, [[maybe_unused]] std::size_t bytes,
                [[maybe_unused]] const char* name = "") noexcept {
        if constexpr (traces) ledger_.recorder().record(kind, bytes, name);
    }

  private:
    static constexpr bool calls_listeners = requires { Ledger::calls_listeners; };

    std::size_t bytes_of(std::size_t pages) const noexcept { return pages << arena_.page_shift(); }

    // The result of `get` once the bytes are charged; false (null), and nothing is charged, where either fails.
    template <class Move, class Get>
    ALLOT_ALWAYS_INLINE auto charged(std::size_t bytes, Move& move, Get get) noexcept -> decltype(get()) {
        // A move does not begin while a listener is called: others wait for moves. A request that held bytes of the
        // tree stand in the way of waits inside try_charge().
        if constexpr (!calls_listeners) move.begin();
        if (!ledger_.try_charge(bytes)) {
            if constexpr (!calls_listeners) move.end();
            return {};
        }
        if constexpr (calls_listeners) move.begin();
        const auto got = get();
        if (got) return ledger_.confirm(bytes), got;
        if constexpr (calls_listeners) move.end(); // listeners hear of the cancellation
        ledger_.cancel(bytes);
        if constexpr (!calls_listeners) move.end();
        return {};
    }

    template <class Move> std::byte* try_take(std::size_t pages, Move& move) noexcept {
        return charged(bytes_of(pages), move, [&] {
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
};

} // namespace allot::inline ALLOT_ABI
