// The lock of a tree of accounts, and the list of refunds that found it taken.
//
// Such a refund is added to its account's own credit (leaf_credit::defer_refund), and the account to this list. The
// next holder of the lock settles the list first, so it sees every refund that has returned.
// Invariant: an account is in the list at most once. Cost: 16 bytes; one load more than the spin lock while the list is
// empty. Threads: any; add_deferred() without the lock.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/tree/tree_node.hpp>

#include <atomic>

namespace allot::inline ALLOT_ABI {
namespace detail {

class tree_lock {
  public:
    ALLOT_ALWAYS_INLINE void lock() noexcept {
        lock_.lock();
        if (ALLOT_UNLIKELY(!deferred_.empty())) settle_deferred();
    }
    ALLOT_ALWAYS_INLINE bool try_lock() noexcept {
        if (!lock_.try_lock()) return false;
        if (ALLOT_UNLIKELY(!deferred_.empty())) settle_deferred();
        return true;
    }
    void unlock() noexcept { lock_.unlock(); }
    // Lets other threads take the lock for a moment. Requires the lock.
    void unlock_and_relock() noexcept {
        unlock();
        yield();
        lock();
    }
    // Has the next holder settle the refund that was added to the node's credit.
    void add_deferred(tree_node& node) noexcept {
        if (!node.has_deferred_.exchange(true, std::memory_order_acq_rel)) deferred_.push(&node);
    }

  private:
    ALLOT_NOINLINE void settle_deferred() noexcept {
        for (tree_node* n = deferred_.take_all(); n != nullptr;) {
            tree_node* const following = n->next_deferred_.load(std::memory_order_relaxed);
            n->has_deferred_.exchange(false, std::memory_order_acq_rel); // a refund that found it true is settled below
            n->settle();
            n = following;
        }
    }
    basic_spin_lock<lock_rank::tree> lock_;
    tree_node::deferred_nodes deferred_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
