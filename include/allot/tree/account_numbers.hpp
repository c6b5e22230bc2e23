// The statistics of an account, and the check of its invariants.
//
// Cost: a visit of each item, or of each account below. Threads: as each function says.
#pragma once

#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/open_counts.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline std::size_t used(const account_node& a) noexcept {
    const locked_tree scope(a);
    return a.used();
}
// Bytes that pools owe to accounts below.
inline std::size_t owed(const account_node& a) noexcept {
    const locked_tree scope(a);
    return a.tree().owed_below(a);
}
// The bytes that the account would use if all owed bytes were paid, as freed bytes are used first.
inline std::size_t used_or_owed(const account_node& a) noexcept {
    const locked_tree scope(a);
    return a.used() + a.tree().owed_below(a);
}
// Bytes that are free, and kept for a request that is due: others that may wait go behind it. Requires the lock.
inline std::size_t kept(const account_node& a) noexcept {
    const waiter* const first = a.waits().first(false);
    return first == nullptr || !first->is_due() || first->trying ? 0 : min(first->needs(), a.totals().room());
}
// What reservations below keep of the bytes that it uses, and nobody has charged. Requires the lock.
inline std::size_t promised_below(const account_node& a) noexcept {
    std::size_t promised = 0;
    a.walk([&](const tree_node& n) {
        if (&n != &a) promised += n.totals().confirmed_subtree_charge() - n.totals().confirmed();
    });
    return promised;
}
inline std::size_t promised(const account_node& a) noexcept {
    const lock_guard whole(a.shape());
    const locked_tree scope(a);
    return promised_below(a) + kept(a);
}
// Requires the lock.
ALLOT_OUTLINE_WARM account_stats stats_locked(const account_node& a) noexcept {
    account_stats f = a.stats();
    f.used += kept(a);
    f.buffers = a.life.counts().now(open_counts::buffers);
    f.passed = a.waits().empty() ? 0 : a.waits().first()->passed;
    for (const waiter* w = a.tree().waits.all.first(); w != nullptr; w = a.tree().waits.all.after(*w))
        f.waiting += !w->trying && w->by->is_below(a);
    return f;
}
template <class Visit> void each_item(const account_node& a, Visit visit) {
    for (const account_item* i = a.items.first(); i != nullptr; i = a.items.after(*i)) visit(*i);
}
// With what its items report. Requires the mutex.
inline account_stats stats_with_items(const account_node& a) noexcept {
    std::size_t committed = 0, resident = 0;
    each_item(a, [&](const account_item& i) {
        const item_stats its = i.stats();
        committed += its.committed;
        resident += its.resident;
    });
    const locked_tree scope(a);
    account_stats f = stats_locked(a);
    f.committed = committed;
    f.resident = resident;
    return f;
}
// As account::visit(), without what items report: that may ask the system for each page.
template <class Visit> void visit_numbers(const account_node& top, Visit visit) {
    const lock_guard whole(top.shape());
    top.walk([&](const tree_node& n) {
        const account_node& a = account_node::of(n);
        account_stats f;
        {
            const locked_tree scope(a);
            f = stats_locked(a);
        }
        visit(static_cast<const account_stats&>(f), static_cast<const account&>(a.face));
    });
}
ALLOT_OUTLINE_WARM bool verify(const account_node& top) noexcept {
    const lock_guard whole(top.shape());
    const locked_tree scope(top);
    bool ok = top.valid();
    top.walk([&](const tree_node& n) {
        const account_node& a = account_node::of(n);
        const bool no_credit = !a.credit().word().open();
        ok = ok && a.items.valid() && (a.log() == nullptr || no_credit) && (a.is_open() || no_credit);
        ok = ok && (&a == &top || a.above()->is_open() || !a.is_open());
    });
    return ok;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
