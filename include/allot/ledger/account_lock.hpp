// What holds the lock of a tree of accounts, and what is done when it is released. Part of account.hpp.
#pragma once

#include <allot/ledger/account.hpp>
#include <allot/sync/lock_guard.hpp>

#include <utility>

namespace allot::inline ALLOT_ABI {

// Accounts that drained meanwhile are ended after the unlock; with ends = false, which a caller that may hold the
// tree's mutex passes, by the next holder. Requests that wait are woken if they may fit now.
class account::locked {
  public:
    explicit locked(const account& a, bool ends = true) noexcept : tree(a.tree()), root_(a.root()), ends_(ends) {
        tree.lock.lock();
    }
    locked(const account& a, detail::adopt_lock_t) noexcept : tree(a.tree()), root_(a.root()), ends_(true) {}
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;
    ALLOT_ALWAYS_INLINE ~locked() {
        if (ALLOT_UNLIKELY(tree.acts_at_unlock)) act_and_unlock(tree, root_, ends_);
        else tree.lock.unlock();
    }

    detail::account_tree& tree;

  private:
    static void act_and_unlock(detail::account_tree& tree, const account& root, bool ends) noexcept;

    const account& root_;
    const bool ends_;
};

} // namespace allot::inline ALLOT_ABI
