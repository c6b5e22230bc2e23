// The shared state of a tree of accounts, in its root: the lock, the leaves with a credit step, listeners, reclaimers.
//
// The mutex `shape` is held while an account opens or closes, an item is added or removed, or the tree is walked; it is
// taken before the lock. All else requires the lock, but for the listeners' count.
// Invariant: every open account with a credit step is in `leaves`. Cost: 128 bytes. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/ledger/listener_dispatch.hpp>
#include <allot/ledger/tree_lock.hpp>
#include <allot/ledger/tree_node.hpp>
#include <allot/reclaim/reclaimers.hpp>
#include <allot/sys/mutex.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class account;
class account_peak;

namespace detail {

struct account_tree {
    tree_lock lock;
    ALLOT_NO_UNIQUE_ADDRESS listener_dispatch listeners; // `waiting` is in its tail
    std::uint32_t waiting = 0;  // requests that wait until held bytes are confirmed or cancelled
    tree_node::leaves leaves;   // with a credit step
    account* drained = nullptr; // accounts to end after the unlock
    account_peak* peak_copy = nullptr;
    sys::mutex shape{lock_rank::tree_shape};
    detail::reclaimers reclaimers; // the mutex guards their list

    // Returns the credit of the leaves at and below `within`, in bytes. With `closes` they are granted none until a
    // charge climbs and fits. Requires the lock.
    std::size_t recall_credit(const tree_node& within, bool closes) noexcept {
        std::size_t bytes = 0;
        for (tree_node* n = leaves.first(); n != nullptr; n = leaves.after(*n)) {
            if (!n->is_below(within)) continue;
            if (n->credit().one_thread()) n->credit().recall(); // returned by its thread's next request
            else bytes += n->take_back(true, n->credit().word().open() && !closes);
        }
        return bytes;
    }
    // Closes the credit of all leaves below an exceeded limit at or above `from`. Requires the lock.
    void close_credits_where_exceeded(const tree_node& from) noexcept {
        for (const tree_node* n = &from; (n = tree_node::first_over_limit(n)) != nullptr; n = n->parent())
            recall_credit(*n, true);
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
