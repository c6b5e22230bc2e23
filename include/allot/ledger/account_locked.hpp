// The tree's lock, held by a function of an account. Part of account.hpp.
//
// Accounts that drained meanwhile end after the lock is released, unless the tree's mutex may be held, too (ends =
// false): then with the next holder.
#pragma once

#include <allot/ledger/account.hpp>
#include <allot/sync/lock_guard.hpp>

#include <utility>

namespace allot::inline ALLOT_ABI {

class account::locked {
  public:
    explicit locked(const account& a, bool ends = true) noexcept : root_(a.root()), tree(a.tree()), ends_(ends) {
        tree.lock.lock();
    }
    locked(const account& a, adopt_lock_t) noexcept : root_(a.root()), tree(a.tree()), ends_(true) {}
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;
    ALLOT_ALWAYS_INLINE ~locked() {
        if (ALLOT_UNLIKELY(tree.peak_copy != nullptr)) copy_peak(root_, *tree.peak_copy);
        account* const drained = ends_ && tree.drained != nullptr ? std::exchange(tree.drained, nullptr) : nullptr;
        tree.lock.unlock();
        if (ALLOT_UNLIKELY(drained != nullptr)) end_drained(drained); // the root may end with the last
    }

  private:
    const account& root_;

  public:
    detail::account_tree& tree;

  private:
    const bool ends_;
};

} // namespace allot::inline ALLOT_ABI
