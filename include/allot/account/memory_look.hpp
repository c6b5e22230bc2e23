// A thread that sleeps until an account may have more memory, and takes none: how an executor hears of it.
//
//     sys::parking spot;
//     detail::memory_look look{engine, 64_MiB, spot};
//     ... // what is free is read again: it was not heard of before
//     spot.wait_until(end);
//
// It is a waiter of the level that refuses the bytes, behind all others, and is signalled once: when the bytes are free
// there, by a refund, the end of a promise or a higher limit; when unused memory or a reclaimer with more to free is
// announced there, as a pin that ended or bytes that arrived; and when the account is closed.
// Cost: 300 bytes; the tree's lock at begin and end; credit below the level is recalled meanwhile. Threads: one; the
// account outlives it.
#pragma once

#include <allot/config.hpp>
#include <allot/request/wait_queue.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sys/parking.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/tree_change.hpp>
#include <allot/tree/wait_order.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

class memory_look {
  public:
    memory_look(account& of, std::size_t bytes, sys::parking& spot) noexcept : at_(node_of(of)) {
        w_.by = &at_;
        w_.bytes = bytes;
        w_.patient = w_.looks = true;
        w_.spot = &spot;
        const bool waits = change_tree(at_, [&](tree_change& now) {
            account_tree& tree = now.tree;
            tree.recall_credit(at_);
            if (!at_.is_open()) return false;
            const tree_node* const refuses = refuser_beside(&at_, bytes, tree.waits);
            w_.in = w_.at = refuses != nullptr ? refuses : &at_;
            w_.least = bytes;
            for (const tree_node* n = &at_; n != w_.in; n = n->parent()) w_.least = passed_on(*n, w_.least);
            auto& level = const_cast<tree_node&>(*w_.in);
            tree.add(w_);
            level.waits().add(w_);
            level.waits().sleep(w_, tree.waits);
            tree.recall_credit(level);
            return true;
        });
        if (!waits) return;
        full_fence(); // a refund that is deferred meanwhile sees it, or this look sees the refund
        change_tree(at_, [&](tree_change& now) { now.look_from(at_); });
    }
    memory_look(const memory_look&) = delete;
    memory_look& operator=(const memory_look&) = delete;
    ~memory_look() {
        const locked_tree scope(at_);
        if (w_.in != nullptr) remove_look(w_, scope.tree);
    }

  private:
    account_node& at_;
    waiter w_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
