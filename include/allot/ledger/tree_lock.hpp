// The lock of a tree of accounts, with the refunds that found it taken.
//
// A refund never waits: where the lock is taken it goes into the account's own credit (leaf_credit::defer_refund), and
// the account is noted here. The next holder settles the notes first, so it sees every refund that has returned.
// Invariant: an account is noted at most once. Cost: 16 bytes; without notes, one load more than the spin lock.
// Threads: any; add_deferred() without the lock.
#pragma once

#include <allot/config.hpp>
#include <allot/ledger/tree_node.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>

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
    // Lets other threads have the lock for a moment. Requires the lock.
    void unlock_and_relock() noexcept {
        unlock();
        yield();
        lock();
    }
    // The node's credit holds a refund that the next holder is to settle.
    void add_deferred(tree_node& node) noexcept {
        if (!node.has_deferred_.exchange(true, std::memory_order_acq_rel)) deferred_.push(&node);
    }

  private:
    ALLOT_NOINLINE void settle_deferred() noexcept {
        for (tree_node* n = deferred_.take_all(); n != nullptr;) {
            tree_node* const following = n->next_deferred_.load(std::memory_order_relaxed);
            n->has_deferred_.exchange(false, std::memory_order_acq_rel); // a refund that found it set is settled below
            n->settle();
            n = following;
        }
    }
    spin_lock lock_;
    tree_node::deferred_nodes deferred_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
