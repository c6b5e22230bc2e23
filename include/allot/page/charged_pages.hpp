// Pages of an arena, charged to a ledger: charge, take, confirm. A failed take never counts in the peak.
//
// A private arena's pages are charged while they are committed: taken, or free and may hold memory of the system. So a
// take charges only the clean ones of its pages, and none where all were used before; a given page stays charged, as
// idle memory, until the arena returns it to the system (page_payer.hpp). A shared arena's pages are charged while they
// are taken, and those of an arena of lent or device memory.
// Invariant: bytes charged here = pages held so x page size, and never exceed the ledger's limit.
// Cost: two references and a word; O(1) per call. Threads: any.
#pragma once

#include <allot/account/pending_charge.hpp>
#include <allot/config.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/reclaim/shortage.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sys/thread_context.hpp>
#include <allot/watch/event_ring.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

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

    charged_pages(page_arena& arena, Ledger& ledger) noexcept
        : arena_(arena), ledger_(ledger), by_commit_(arena.has_payer()) {
        if constexpr (requires { ledger.waits_at(arena.level()); }) ledger.waits_at(arena.level());
    }

    // Whether a request that takes unused memory asks may_take() first, and calls took() once it has it.
    bool is_strained() const noexcept { return ledger_.strain().load(std::memory_order_relaxed) != 0; }
    // Where a limit is exceeded, idle memory leaves: give_idle() gives that of the object to the arena. False: the
    // request goes behind one that is due.
    template <class GiveIdle> bool may_take(detail::memory_request& asked, GiveIdle give_idle) noexcept {
        asked.is_in_turn = true;
        if (ledger_.is_exceeded()) give_idle(), asked.returned += trim_for(SIZE_MAX);
        if constexpr (requires { ledger_.may_take(asked, give_idle); })
            asked.is_in_turn = ledger_.may_take(asked, give_idle);
        return asked.is_in_turn;
    }
    void took([[maybe_unused]] const detail::memory_request& asked) noexcept {
        if constexpr (requires { ledger_.took(asked); }) ledger_.took(asked);
    }

    page_arena& arena() const noexcept { return arena_; }
    // Bytes of pages that are free, and charged.
    std::size_t idle() const noexcept {
        return by_commit_ ? arena_.kept() + bytes_of(ahead_.load(std::memory_order_relaxed)) : 0;
    }
    // The same, of those that leave at a shortage.
    std::size_t leaves() const noexcept {
        return by_commit_ ? arena_.unused() + bytes_of(ahead_.load(std::memory_order_relaxed)) : 0;
    }

    // One attempt at a run of pages; null, with nothing changed, if the limit or the arena refuses. `move` is in
    // progress on success, else ended.
    template <class Move> std::byte* take(std::size_t pages, detail::memory_request& asked, Move&& move) noexcept {
        return charged(pages, asked, move, [&](auto& budget) { return arena_.take(pages, budget, asked); }, pages);
    }
    // The same for pages that get(budget) takes; it returns false or null where they are refused, or cost more. Where
    // no page is idle, `first` of them are charged before; 0: what it gets depends on the budget.
    template <class Move, class Get>
    ALLOT_ALWAYS_INLINE auto charged(std::size_t pages, detail::memory_request& asked, Move& move, Get get,
                                     std::size_t first = 0) noexcept
        -> decltype(get(std::declval<detail::page_budget&>())) {
        [[maybe_unused]] const std::size_t returned = traces ? arena_.returned() : 0;
        // Other threads wait for moves to end, and a charge may call listeners or wait for other requests. So a charge
        // is in a move only if the ledger calls no listeners.
        if constexpr (!calls_listeners) move.begin();
        const auto got = by_commit_ ? commit(first, asked, move, get) : charge_and_take(pages, asked, move, get);
        if constexpr (!calls_listeners)
            if (!got) move.end();
        if constexpr (traces)
            if (const std::size_t more = arena_.returned() - returned; more != 0) record(watch_event::trimmed, more);
        return got;
    }
    // Gives a run of pages back to the arena. `on_given`: see given().
    void give(std::byte* first, std::size_t pages) noexcept {
        give(first, pages, [] {});
    }
    template <class OnGiven> void give(std::byte* first, std::size_t pages, OnGiven on_given) noexcept {
        arena_.give(first, pages);
        given(pages, on_given);
    }
    // Pages have returned to the arena. They are refunded, or stay charged as idle memory. Calls on_given() once other
    // threads can take and charge them, before any listener is called.
    void given(std::size_t pages) noexcept {
        given(pages, [] {});
    }
    template <class OnGiven> void given(std::size_t pages, OnGiven on_given) noexcept {
        if (by_commit_) {
            on_given();
            // A refused request leaves nothing charged. This is no release: it may call the system.
            if (ALLOT_UNLIKELY(detail::of_this_thread.undoes)) static_cast<void>(arena_.trim_for(bytes_of(pages)));
            notify_account(); // the arena has signalled its own
        } else if constexpr (calls_listeners) {
            ledger_.refund(bytes_of(pages), on_given);
        } else {
            ledger_.refund(bytes_of(pages));
            on_given();
        }
    }
    // Returns the arena's free pages to the system; in bytes.
    std::size_t trim() noexcept {
        refund_ahead();
        const std::size_t returned = arena_.trim();
        record(watch_event::trimmed, returned);
        return returned;
    }
    // At a shortage of as many bytes: returns idle memory to the system, and refunds it. In bytes.
    std::size_t trim_for(std::size_t bytes) noexcept {
        refund_ahead();
        const std::size_t returned = arena_.trim_for(bytes);
        if (returned != 0) record(watch_event::trimmed, returned);
        return returned;
    }
    // Call when pages or slots became unused, or may have: requests of the account, or of the arena, may wait for them.
    void notify_unused() noexcept {
        full_fence(); // after the change
        if constexpr (notifies) ledger_.notify_unused();
        arena_.level().gave();
    }
    void notify_account() noexcept {
        if constexpr (notifies) full_fence(), ledger_.notify_unused();
    }
    // The object refills a cache: it rests no longer.
    ALLOT_COLD void open_caches() noexcept {
        if constexpr (notifies) ledger_.open_caches();
    }
    // Call once taken pages are in use, with no lock held: the peak recorder may run, and reclaimers be called.
    void settled() noexcept {
        if constexpr (requires { ledger_.settled(); }) ledger_.settled();
        if constexpr (requires { ledger_.free_ahead(); }) ledger_.free_ahead();
    }
    // Adds an event to the trace; no code in a set without one. `name` must live as long as the ledger.
    void record([[maybe_unused]] watch_event kind, [[maybe_unused]] std::size_t bytes,
                [[maybe_unused]] const char* name = "") noexcept {
        if constexpr (traces) ledger_.recorder().record(kind, bytes, name);
    }

  private:
    static constexpr bool calls_listeners = requires { Ledger::calls_listeners; };

    std::size_t bytes_of(std::size_t pages) const noexcept { return pages << arena_.page_shift(); }
    template <class Move, class Get>
    static auto in_move(Move& move, Get get, detail::page_budget& budget) noexcept -> decltype(get(budget)) {
        if constexpr (calls_listeners) move.begin();
        const auto got = get(budget);
        if constexpr (calls_listeners)
            if (!got) move.end(); // a cancel() calls listeners
        return got;
    }
    template <class Move, class Get>
    auto charge_and_take(std::size_t pages, detail::memory_request& asked, Move& move, Get get) noexcept
        -> decltype(get(std::declval<detail::page_budget&>())) {
        detail::pending_charge<Ledger> charge{ledger_}; // its end cancels what is not confirmed
        if (!charge.hold(bytes_of(pages), asked)) return {};
        detail::page_budget all;
        const auto got = in_move(move, get, all);
        if (got) charge.confirm();
        return got;
    }
    // Where no page is idle, a new run is charged first, as where pages are charged while they are taken.
    template <class Move, class Get>
    ALLOT_ALWAYS_INLINE auto commit(std::size_t first, detail::memory_request& asked, Move& move, Get get) noexcept
        -> decltype(get(std::declval<detail::page_budget&>())) {
        if (ALLOT_LIKELY(first != 0 && arena_.takes_clean_plain_pages() &&
                         ahead_.load(std::memory_order_relaxed) == 0)) {
            detail::pending_charge<Ledger> charge{ledger_};
            if (!charge.hold(bytes_of(first), asked)) return {};
            detail::page_budget budget{.most = first};
            if (const auto got = in_move(move, get, budget); ALLOT_LIKELY(got))
                return charge.confirm(), keep(first - budget.clean), got;
        }
        return commit_by_need(first, asked, move, get);
    }
    template <class Move, class Get>
    ALLOT_COLD auto commit_by_need(std::size_t first, detail::memory_request& asked, Move& move, Get get) noexcept
        -> decltype(get(std::declval<detail::page_budget&>())) {
        decltype(get(std::declval<detail::page_budget&>())) got{};
        commit_by_need(first, asked,
                       [&](detail::page_budget& budget) { return bool(got = in_move(move, get, budget)); });
        return got;
    }
    // Tries first what needs no charge; then charges the clean pages of the run. Where that is refused, a run without
    // them will do, wherever it lies; else idle pages return to the system for it, as where the system has no memory.
    // A charge for pages that others have committed meanwhile is for the next take.
    ALLOT_NOINLINE void commit_by_need(std::size_t first, detail::memory_request& asked,
                                       detail::attempt_with<detail::page_budget> get) noexcept {
        const bool asks = is_strained();
        if (ALLOT_UNLIKELY(asks) && !may_take_page(first, asked)) return;
        const std::size_t ahead =
            ahead_.load(std::memory_order_relaxed) != 0 ? ahead_.exchange(0, std::memory_order_relaxed) : 0;
        detail::pending_charge<Ledger> charge{ledger_}; // its end cancels what is not confirmed
        detail::page_budget budget{.most = ahead};
        const auto hold = [&](std::size_t n, detail::memory_request& by) noexcept {
            if (!charge.hold(bytes_of(n - ahead), by)) return false;
            return budget.most = n, true;
        };
        const auto refused_at_limit = [&] { return asked.why.outcome == charge_outcome::over_limit; };
        // For a huge OS page idle memory of others makes room, too, else an OS page is touched after the other.
        const auto hold_unit = [&](std::size_t n) noexcept {
            if (hold(n, asked)) return true;
            if constexpr (requires { ledger_.try_from_idle(asked.why, [](detail::memory_request&) { return true; }); })
                return refused_at_limit() &&
                       ledger_.try_from_idle(asked.why, [&](detail::memory_request& unit) { return hold(n, unit); });
            return false;
        };
        for (;;) {
            budget.wanted = 0;
            if (get(budget)) {
                if (charge.held() != 0) charge.confirm();
                else if (asks) took(asked);
                return keep(budget.most - budget.clean);
            }
            if (charge.held() != 0) charge.cancel();
            if (const std::size_t needs = budget.clean; needs > budget.most) {
                const bool wants = budget.wanted > needs;
                if (wants && hold_unit(budget.wanted)) continue;
                if ((!wants || refused_at_limit()) && hold(needs, asked)) continue;
                const charge_status why = asked.why;
                detail::shared_level* const at = asked.refused_at;
                detail::page_budget used{.most = 0, .only_used = true};
                if (why.outcome == charge_outcome::over_limit && get(used)) {
                    if (asks) took(asked);
                    return keep(ahead);
                }
                asked.refuse(why, at);
            }
            budget.most = ahead;
            const std::size_t missing = asked.why.outcome == charge_outcome::over_limit
                                            ? shortage{.why = asked.why}.missing()
                                        : asked.why.outcome == charge_outcome::no_memory ? SIZE_MAX
                                                                                         : 0;
            const std::size_t returned = arena_.trim_for(missing);
            if (returned == 0) return keep(ahead);
            asked.returned += returned;
        }
    }
    // A limit that was lowered holds for idle pages, too: what may not leave is not taken either.
    bool may_take_page(std::size_t first, detail::memory_request& asked) noexcept {
        if (!std::exchange(asked.is_in_turn, false) && !may_take(asked, [] {})) return false;
        if (!ledger_.is_exceeded()) return true;
        detail::pending_charge<Ledger> charge{ledger_};
        return charge.hold(bytes_of(first != 0 ? first : 1), asked);
    }
    void refund_ahead() noexcept {
        if constexpr (requires { ledger_.books(); }) ledger_.books().return_idle();
        if (const std::size_t ahead = ahead_.exchange(0, std::memory_order_relaxed); ahead != 0)
            ledger_.refund(bytes_of(ahead));
    }
    void keep(std::size_t ahead) noexcept {
        if (ahead == 0) return;
        ahead_.fetch_add(ahead, std::memory_order_relaxed);
        if constexpr (notifies) full_fence(), ledger_.wake();
    }

    page_arena& arena_;
    Ledger& ledger_;
    const bool by_commit_;              // committed pages are charged, not taken ones
    std::atomic<std::size_t> ahead_{0}; // pages charged, not committed
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
