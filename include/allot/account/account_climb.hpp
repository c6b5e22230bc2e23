// The ways in which a refused request climbs the ladder (ladder.hpp), with the steps of accounts (account_steps.hpp).
//
//   request_again               a request of an account that needs nothing else, as a charge
//   climb_for                   one that takes memory of a product, and charges another account for it, too
//   request_from_idle           what is good to have: idle memory of others, no other step
//   return_idle_beyond_limits   before anything is granted below a limit that was lowered
// Cost: nothing before the first refusal. Threads: the request's own, which holds no lock of allot.
#pragma once

#include <allot/account/account_steps.hpp>
#include <allot/account/free_ahead.hpp>
#include <allot/config.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/tree_node.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct frees_ahead {
    const account_node& of;
    ~frees_ahead() { free_ahead(of); }
};
// The steps of a request. At their end what a level needs ahead is freed: not in a climb.
class request_steps : frees_ahead, public account_steps {
  public:
    request_steps(const account_node& by, std::uint32_t most_cost, const reclaimer* own = nullptr) noexcept
        : frees_ahead{by}, account_steps(by, most_cost, own) {}
};

// Makes a request again that was refused, as `asked.why` says, step by step; attempt() sets `asked.why`. Returns:
// whether it was granted. Requires: the thread holds no lock of allot.
ALLOT_OUTLINE_WARM bool request_again(const account_node& by, memory_request& asked, attempt_ref attempt) noexcept {
    no_own_steps none;
    request_steps level{by, reclaimer::any};
    return climb<no_own_steps, account_steps>(asked, none, level, attempt);
}
// A product's own steps for a request that charges another account, too: its idle memory serves a charge where it is
// charged below the level that refuses, in part at least.
template <class Own> struct steps_beside_a_charge {
    static constexpr bool any = Own::any;

    climbed return_idle(const memory_request& asked) noexcept {
        return asked.of_charge && !is_charged_below(asked.why) ? climbed::moved_on : own.return_idle(asked);
    }
    climbed ask_arena(const memory_request& asked) noexcept { return own.ask_arena(asked); }
    climbed wait_for_moves(const memory_request& asked) noexcept { return own.wait_for_moves(asked); }
    bool is_charged_below(const charge_status& why) const noexcept {
        if (pays == nullptr || why.by != refuser::account || why.at == nullptr) return false;
        const locked_tree scope(*pays);
        return pays->is_charged_below(*refuser_in(why));
    }

    Own& own;
    const account_node* pays; // for the product's memory; null: no account
};
// The same for a request that takes memory of a product, whose own steps and ledger these are, and charges `by` for it;
// null: the ledger alone.
template <class Own, class Ledger>
bool climb_for(memory_request& asked, Own& own, const account_node* by, const Ledger& ledger, std::uint32_t most_cost,
               attempt_ref again) noexcept {
    if (by == nullptr) {
        auto level = ledger.steps(most_cost);
        return climb(asked, own, level, again);
    }
    if constexpr (requires { ledger.steps(*by, reclaimer::any); }) {
        steps_beside_a_charge<Own> beside{own, &ledger.account().node()};
        auto level = ledger.steps(*by, reclaimer::any);
        return climb(asked, beside, level, again);
    } else {
        steps_beside_a_charge<Own> beside{own, nullptr};
        request_steps level{*by, reclaimer::any};
        return climb(asked, beside, level, again);
    }
}
// Makes a request again that a limit refused, as long as other objects than `own` return idle memory: no other step.
// It may hold bytes that are not confirmed.
template <class Attempt>
bool request_from_idle(const account_node& by, const charge_status& why, const reclaimer* own,
                       Attempt attempt) noexcept {
    memory_request asked{why.requested};
    asked.why = why;
    no_own_steps none;
    account_steps level{by, reclaimer::idle, own};
    return climb(asked, none, level, attempt_ref{[&] { return attempt(asked); }});
}
// Has objects return idle memory where a limit is exceeded, at the account or above, until it holds again.
inline void return_idle_beyond_limits(const account_node& by) noexcept {
    const auto hold = [&](memory_request& over) {
        const locked_tree scope(by);
        const tree_node* const at = tree_node::first_over_limit(&by);
        if (at != nullptr) over.why = account_node::of(*at).refused(charge_outcome::over_limit, 0);
        return at == nullptr;
    };
    memory_request over{0};
    if (!hold(over)) static_cast<void>(request_from_idle(by, over.why, nullptr, hold));
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
