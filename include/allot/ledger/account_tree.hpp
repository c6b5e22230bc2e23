// What a tree of accounts has once, in its root: the lock, the leaves with steps, the listeners' calls.
//
// The mutex `shape` is held by the thread that opens or closes an account, adds an item, or walks the tree; it is taken
// before the lock. Everything else but the listeners' count requires the lock.
// Invariant: every account with a step that is in the tree is in `leaves`. Cost: 104 bytes. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/ledger/listener_dispatch.hpp>
#include <allot/ledger/tree_lock.hpp>
#include <allot/ledger/tree_node.hpp>
#include <allot/sys/mutex.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class account;
class account_peak;

namespace detail {

struct account_tree {
    tree_lock lock;
    std::uint32_t waiting = 0; // requests that wait until held bytes are confirmed or cancelled
    listener_dispatch listeners;
    tree_node::leaves leaves;   // with steps
    account* drained = nullptr; // to end when the lock is released
    account_peak* peak_copy = nullptr;
    sys::mutex shape;

    // The leaves at and below `within` return their credit. With `closes` they take none until a charge climbs and
    // fits. Returns bytes. Requires the lock.
    std::size_t recall_credit(const tree_node& within, bool closes) noexcept {
        std::size_t bytes = 0;
        for (tree_node* n = leaves.first(); n != nullptr; n = leaves.after(*n)) {
            if (!n->is_below(within)) continue;
            if (n->credit().one_thread()) n->credit().recall(); // its thread returns it with its next request
            else bytes += n->take_back(true, n->credit().word().open() && !closes);
        }
        return bytes;
    }
    // No leaf has credit below an exceeded limit, at or above `from`. Requires the lock.
    void close_credits_where_exceeded(const tree_node& from) noexcept {
        for (const tree_node* n = &from; (n = tree_node::first_over_limit(n)) != nullptr; n = n->parent())
            recall_credit(*n, true);
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
