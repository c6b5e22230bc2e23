// Retries of one request that a limit refuses, under the tree's lock.
//
// First leaves below the limiting level return credit, as much as is missing. Then a request that only held bytes
// prevent sleeps until these are confirmed or cancelled; a new request that holds bytes lets waiting requests pass.
// Invariant: a request counts at most once in `waiting`. Cost: on the stack. Threads: requires the tree's lock.
#pragma once

#include <allot/config.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/sys/fork_gate.hpp>
#include <allot/tree/account_status.hpp>
#include <allot/tree/account_tree.hpp>
#include <allot/tree/tree_node.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

enum class charge_mode : std::uint8_t { checked, forced, held };

class charge_request {
  public:
    charge_request(account_tree& tree, charge_mode mode) noexcept : tree_(tree), mode_(mode) {}
    charge_request(const charge_request&) = delete;
    charge_request& operator=(const charge_request&) = delete;
    ~charge_request() {
        if (ALLOT_LIKELY(!waits_)) return;
        --tree_.waiting;
        sys::leave_section();
    }

    // Lets requests that wait for held bytes go first. Not inside a call, since they may wait for its thread.
    void let_waiting_pass() noexcept {
        if (user_call::may_wait_for_holders())
            while (tree_.waiting != 0) tree_.sleep_unlocked();
    }
    // True: something has changed; check again. False: `found` is final; a refusal was counted, unless the mode is
    // checked.
    // `end`: of the levels that were checked.
    ALLOT_ALWAYS_INLINE bool retry(tree_node::limit_check& found, const tree_node* end = nullptr) noexcept {
        return ALLOT_UNLIKELY(!found.fitted()) && should_retry(found, end);
    }
    // Has leaves below the limiting level return credit, as much as is missing for `found.more` bytes. False: all of it
    // would not help. The lock is released between some leaves and more, as long as others do not take as much
    // meanwhile.
    bool recall(const tree_node::limit_check& found) noexcept {
        if (ALLOT_UNLIKELY(found.at->first_with_credit() != nullptr)) {
            const level_totals& level = found.at->totals();
            if (!level.can_ever_fit(found.more)) return false;
            const std::size_t missing = level.missing(found.more);
            const account_tree::recalled r = tree_.recall_some(*found.at, missing);
            if (r.more && r.bytes < missing && pauses_ != max_pauses) ++pauses_, tree_.lock.unlock_and_relock();
            if (r.more || r.bytes != 0) return true;
        }
        return tree_.settle_reservations_below(*found.at);
    }

  private:
    ALLOT_OUTLINE bool should_retry(tree_node::limit_check& found, const tree_node* end) noexcept {
        if (recall(found)) return true;
        if (mode_ == charge_mode::forced) {
            // The levels above the refusing one were not checked.
            if (!found.overflows && !found.at->overflows_above(found.more, end)) found.outcome = charge_outcome::forced;
            if (!found.charged()) found.limit = max_charged; // what refuses it, whatever limits are exceeded
        } else if (found.only_held_bytes_prevent() && wait()) {
            return true;
        }
        if (!found.charged() && mode_ != charge_mode::checked) found.at->totals().count_refusal();
        return false;
    }
    // Sleeps without the lock, for the thread that holds bytes. False inside a call: that thread may be this one.
    bool wait() noexcept {
        if (!user_call::may_wait_for_holders()) return false;
        if (!std::exchange(waits_, true)) {
            sys::enter_section(); // a child of fork() would let it pass for ever
            ++tree_.waiting;
        }
        tree_.sleep_unlocked();
        return true;
    }

    static constexpr unsigned max_pauses = 1000;

    account_tree& tree_;
    const charge_mode mode_;
    bool waits_ = false;
    unsigned pauses_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
