// One request that looks at the levels of a tree under its lock, and may have to look again.
//
// Before it is refused, or goes beyond a limit, the leaves below the limiting level return their credit. A request that
// only held bytes prevent waits until they are confirmed or cancelled; a new request that holds lets it pass first.
// Invariant: it counts in `waiting` at most once. Cost: on the stack. Threads: requires the tree's lock.
#pragma once

#include <allot/config.hpp>
#include <allot/ledger/account_status.hpp>
#include <allot/ledger/account_tree.hpp>
#include <allot/ledger/tree_node.hpp>
#include <allot/sys/thread.hpp>

#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

enum class charge_mode : std::uint8_t { checked, forced, held };

class charge_request {
  public:
    charge_request(account_tree& tree, const tree_node& by, charge_mode mode) noexcept
        : tree_(tree), by_(by), mode_(mode) {}
    charge_request(const charge_request&) = delete;
    charge_request& operator=(const charge_request&) = delete;
    ~charge_request() { tree_.waiting -= waits_; }

    // A request that holds bytes comes after those that wait for such bytes; not inside a call, which they may wait
    // for.
    void let_waiting_pass() noexcept {
        if (!is_inside_a_call(tree_))
            while (tree_.waiting != 0) tree_.lock.unlock_and_relock();
    }
    // True: something has changed, so look again. False: the finding is the request's answer; a refusal was counted.
    ALLOT_ALWAYS_INLINE bool retry(tree_node::limit_check& found) noexcept {
        return ALLOT_UNLIKELY(!found.fitted()) && should_retry(found);
    }
    // The leaves' credit was called in this often for one request at most: each level may refuse it once, and other
    // threads may refund meanwhile.
    static unsigned max_recalls(const tree_node& by) noexcept { return by.depth() + 2; }
    static bool is_inside_a_call(const account_tree& tree) noexcept {
        return tree.listeners.is_inside_a_call(sys::thread_token());
    }

  private:
    ALLOT_NOINLINE bool should_retry(tree_node::limit_check& found) noexcept {
        if (recalls_ < max_recalls(by_)) {
            ++recalls_;
            if (tree_.recall_credit(*found.at, false) != 0) return true;
        }
        if (mode_ == charge_mode::forced) {
            if (found.outcome == charge_outcome::over_limit && !found.overflows) found.outcome = charge_outcome::forced;
        } else if (found.only_held_bytes_prevent() && wait()) {
            recalls_ = 0;
            return true;
        }
        if (!found.charged()) found.at->totals().count_refusal();
        return false;
    }
    // The thread that holds bytes takes pages meanwhile, and waits for no account. False: inside a call, since this
    // thread may be the one that holds.
    bool wait() noexcept {
        if (is_inside_a_call(tree_)) return false;
        if (!std::exchange(waits_, true)) ++tree_.waiting;
        tree_.lock.unlock_and_relock();
        return true;
    }

    account_tree& tree_;
    const tree_node& by_;
    const charge_mode mode_;
    bool waits_ = false;
    unsigned recalls_ = 0; // since it waited
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
