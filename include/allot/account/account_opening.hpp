// How an account opens below its parent, which is charged its reservation.
//
// Cost: the tree's mutex and lock. Threads: the one that constructs the account.
#pragma once

#include <allot/account/account_arguments.hpp>
#include <allot/account/account_closing.hpp>
#include <allot/account/account_node.hpp>
#include <allot/account/account_steps.hpp>
#include <allot/account/charge_request.hpp>
#include <allot/account/ladder.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/sync/lock_guard.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline void refuse_to_open(account_node& a, const charge_status& why) noexcept {
    a.refusal = why;
    a.life.set_closed_by(a);
    a.life.close();
}
// Whether the account may open below the parent.
inline tree_node::limit_check check_parent(account_node& a, account_node& parent, std::size_t reserved) noexcept {
    const auto refused = [](charge_outcome why, account_node& at) {
        return tree_node::limit_check{why, false, &at, at.used(), at.totals().limit(), 0};
    };
    if (!parent.is_open()) return refused(charge_outcome::closed, *parent.life.closed_by());
    if (reserved > max_charged || reserved > a.totals().limit()) return refused(charge_outcome::over_limit, a);
    tree_node::limit_check found = tree_node::check_levels(&parent, reserved);
    found.without_grace();
    return found;
}
enum class opening : std::uint8_t {
    done,
    wait, // held bytes prevent it, and the thread that holds them may need the mutex
    ask,  // what refused the reservation, `refusal`, may have idle memory below it
};
// Attaches the account and charges its reservation, or closes it. Requires the mutex and the lock.
inline opening try_open_below(account_node& a, account_node& parent, std::size_t reserved, bool asked) noexcept {
    charge_request request{a.tree(), charge_mode::checked};
    for (;;) {
        const tree_node::limit_check found = check_parent(a, parent, reserved);
        if (found.fitted()) break;
        if (found.outcome == charge_outcome::over_limit && found.at != &a) {
            if (request.recall(*found.at)) continue;
            if (found.only_held_bytes_prevent() && user_call::may_wait_for_holders()) return opening::wait;
            a.refusal = account_node::status_of(found, reserved);
            if (!asked) return opening::ask;
            found.at->totals().count_refusal();
        }
        refuse_to_open(a, account_node::status_of(found, reserved));
        return opening::done;
    }
    a.refusal = {};
    a.attach(reserved);
    return opening::done;
}
// The same without them, and sleeps while only held bytes prevent it: then it has changed nothing, and wakes nobody.
inline opening open_or_ask(account_node& a, account_node& parent, std::size_t reserved, bool asked) noexcept {
    account_tree& tree = a.tree();
    for (bool slept = false;;) {
        std::uint32_t begun = 0;
        {
            const lock_guard whole(tree.shape);
            tree.lock.lock();
            if (slept) tree.end_sleep();
            if (const opening now = try_open_below(a, parent, reserved, asked); now != opening::wait) {
                const locked_tree scope(a, adopt_lock, 0, leave_drained);
                return now;
            }
            begun = tree.begin_sleep();
            tree.lock.unlock();
        }
        tree.sleep(begun);
        slept = true;
    }
}
// Opens the account below its parent, or as a root (null); closes it if that is refused.
inline void open(account_node& a, account_node* parent, const account_arguments& requested) noexcept {
    a.own_tree.judged = requested.judged;
    if (requested.judged.by != nullptr) requested.judged.by->roots.add(a.own_tree.as_tenant);
    if (!requested.has_valid_step())
        return refuse_to_open(a, a.status(charge_outcome::misused, requested.step, 0, credit_step::max_bytes));
    if (parent == nullptr) return;
    for (bool asked = false;;) {
        if (open_or_ask(a, *parent, requested.reservation, asked) == opening::done) break;
        asked = true;
        memory_request more{requested.reservation};
        more.why = a.refusal;
        const auto again = [&] {
            const bool done = open_or_ask(a, *parent, requested.reservation, false) == opening::done;
            more.why = a.refusal;
            return done;
        };
        if (request_again(*parent, more, again)) break;
    }
    if (a.is_open()) notify_child_change(a, *parent, true);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
