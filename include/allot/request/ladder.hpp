// The ladder: the order in which a request looks for memory after a refusal. Every product and every charge climbs it.
//
//   1 own cache            warm: attempt() begins with it
//   2 own free slots       attempt(): a lock, no system call
//   3 a page               attempt(): charged, then taken, then confirmed
//   4 own idle             The request's own caches and empty pages come first: nobody else loses anything. There are
//                          several ways; what one returns may be enough, so the attempt is made after each.
//   5 idle of others       Tenants of the level that refuses, one by one, until one has returned something: what nobody
//                          uses goes before what somebody needs. If the arena refuses, its tenants, of any account.
//     in transit           Pages that another thread moves are found on neither side. A request that would be refused
//                          beside them waits for the moves, and begins step 4 again (page/pages_in_transit.hpp).
//   6 reclaimers           By cost, one sweep at a time. A call may leave slots and blocks unused in other objects, so
//                          step 5 follows each one that freed something, before the next one is called.
//   7 wait                 The waiter is registered, then the attempt is made once more, then the thread sleeps: memory
//                          that is freed between the last attempt and the sleep wakes it. A wake-up begins at step 1.
//   8 verdict              The arbiter's, where it knows the thread: it ends the wait.
//
// A step returns served: something has changed, make the attempt; moved_on: it has nothing more, take the next step; or
// gave_up: the request has failed. Steps keep their own position, so each is asked where it stopped.
// step_after_refusal() says which one follows an attempt that was refused; the picture in docs/short-of-memory.md is
// drawn from it. A product whose set has no accounts passes no_level: those steps are no code there.
// Invariant: no lock is held between two steps. Cost: nothing before the first refusal. Threads: the request's own.
// Source: HPCC roxiemem's checkLimit and releaseBuffers, 2010 and 2011; its order of spills by cost, 2013.
#pragma once

#include <allot/config.hpp>
#include <allot/request/memory_request.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

enum class climbed : std::uint8_t { moved_on, served, gave_up };

// In the order in which they are taken: one that has nothing more leads to the next.
enum class ladder_step : std::uint8_t { own_idle, tenants, arena, in_transit, reclaimers, wait, top };

constexpr ladder_step step_after_refusal(ladder_step served) noexcept {
    if (served == ladder_step::in_transit || served == ladder_step::wait) return ladder_step::own_idle;
    return served == ladder_step::reclaimers ? ladder_step::tenants : served;
}

// The steps of a request that only an account can refuse.
struct no_own_steps {
    static constexpr bool any = false;
};
// The steps of a level without accounts.
struct no_level {
    static constexpr bool any = false;
};

// What attempt() returns, made again after each step that served; null where the last step has nothing more. `own`
// and `level` have a function for each of their steps:
//   own:    return_idle(asked), ask_arena(asked), wait_for_moves(asked)
//   level:  ask_tenants(asked), call_reclaimers(asked), wait(asked), granted(asked)
template <class Own, class Level, class Attempt>
ALLOT_NOINLINE auto climb(memory_request& asked, Own& own, Level& level, Attempt attempt) -> decltype(attempt()) {
    using step = ladder_step;
    const auto take = [&](step s) {
        if constexpr (Own::any) {
            if (s == step::own_idle) return own.return_idle(asked);
            if (s == step::in_transit) return own.wait_for_moves(asked);
            if (s == step::arena) return own.ask_arena(asked);
        }
        if constexpr (Level::any) {
            if (s == step::tenants) return level.ask_tenants(asked);
            if (s == step::reclaimers) return level.call_reclaimers(asked);
            if (s == step::wait) {
                if (asked.holds != nullptr) // its idle memory leaves with that: nobody waits for what a sleeper has
                    asked.holds->let_go([&]() noexcept {
                        if constexpr (Own::any)
                            while (own.return_idle(asked) == climbed::served) continue;
                        return true;
                    });
                return level.wait(asked);
            }
        }
        return climbed::moved_on;
    };
    for (step now = step::own_idle; now != step::top && asked.why.outcome != charge_outcome::misused;) {
        if (asked.why.outcome == charge_outcome::held_back && now < step::wait)
            now = step::wait; // it fits, but for a due one
        const climbed r = take(now);
        if (r == climbed::moved_on) {
            now = static_cast<step>(static_cast<std::uint8_t>(now) + 1);
            continue;
        }
        if (r == climbed::gave_up) break;
        if (auto got = attempt()) {
            if constexpr (Level::any) level.granted(asked);
            return got;
        }
        now = step_after_refusal(now);
    }
    return {};
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
