// What an object that takes pages of an arena adds to the ladder (request/ladder.hpp): its own idle pages, pages in
// transit, the arena's other tenants.
//
// Invariant: it is a listed request of pages_in_transit during its life, so no move that ends meanwhile is missed.
// Cost: 56 bytes of stack, after a refusal. Threads: the request's own.
#pragma once

#include <allot/config.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/page/pages_in_transit.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

// `return_idle(way)`: does the way-th way to return own idle memory, from 0; false: there is no such way.
template <class ReturnIdle> class page_steps {
  public:
    static constexpr bool any = true;

    page_steps(page_arena& arena, pages_in_transit& in_transit, ReturnIdle return_idle) noexcept
        : arena_(arena), short_of_pages_(in_transit), return_idle_(return_idle) {}

    climbed return_idle(const memory_request&) noexcept {
        if (return_idle_(way_)) return ++way_, climbed::served;
        way_ = 0;
        return climbed::moved_on;
    }
    // Asks once for each refusal by the arena; the next attempt is worth it whatever the tenants returned, since
    // another thread may have returned pages meanwhile. `arena_is_asked_` is true until the step is reached once more.
    climbed ask_arena(const memory_request& asked) noexcept {
        arena_is_asked_ = !arena_is_asked_ && asked.why.by == refuser::arena;
        if (!arena_is_asked_) return climbed::moved_on;
        static_cast<void>(arena_.ask_tenants());
        if (asked.why.outcome == charge_outcome::no_memory) page_arena::ask_others(asked.why.requested);
        return climbed::served;
    }
    climbed wait_for_moves(const memory_request&) noexcept {
        if (short_of_pages_.retry()) return climbed::served;
        short_of_pages_.retry_again();
        return climbed::moved_on;
    }

  private:
    page_arena& arena_;
    pages_in_transit::request short_of_pages_;
    ReturnIdle return_idle_;
    unsigned way_ = 0;
    bool arena_is_asked_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
