// How an account opens below its parent, or as a root.
//
// Cost: the tree's mutex and lock. Threads: the one that constructs the account.
#pragma once

#include <allot/account/account_arguments.hpp>
#include <allot/account/account_closing.hpp>
#include <allot/account/account_node.hpp>
#include <allot/sync/lock_guard.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline void refuse_to_open(account_node& a, const charge_status& why) noexcept {
    a.refusal = why;
    a.life.set_closed_by(a);
    a.life.close();
}
// Opens the account below its parent, or as a root (null); closes it if that is refused.
inline void open(account_node& a, account_node* parent, const account_arguments& requested) noexcept {
    a.own_tree.judged = requested.judged;
    if (requested.judged.by != nullptr) requested.judged.by->roots.add(a.own_tree.as_root);
    if (!requested.has_valid_step())
        return refuse_to_open(a, a.status(charge_outcome::misused, requested.step, 0, credit_step::max_bytes));
    const bool asks_ahead = requested.watermark != SIZE_MAX;
    if (parent == nullptr) return asks_ahead ? a.own_tree.add_watermark() : void();
    {
        const lock_guard whole(parent->shape());
        const locked_tree scope(*parent);
        if (!parent->is_open()) return refuse_to_open(a, parent->life.closed_by()->refused(charge_outcome::closed, 0));
        a.attach();
        if (asks_ahead) scope.tree.add_watermark();
    }
    notify_child_change(a, *parent, true);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
