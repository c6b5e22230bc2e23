// A change of a tree of accounts that others may wait for: it holds the tree's lock, then does what follows.
//
//     change_tree(a, [&](tree_change& now) {
//         a.cancel(bytes);
//         now.look_from(a);
//     });
//
// Under the lock, in this order: what a waiter's own failed try refunds is counted for it (undoing), so that it does
// not wake itself; then the copy of a peak; then those waiters are chosen that the change may serve. The choice is a
// list of work, which is done once the lock is free:
//   wake   requests that may try now
//   post   to the judge what became free
//   call   a queued reservation that was granted, then the next one
//   end    accounts that have drained
// Nothing of the tree is touched then, since its root may end. What the list names is kept meanwhile: a waiter until it
// has its signal, the judge by enter(), the account of a granted reservation as by a refund, one that has drained until
// its own end.
// Invariant: the braces of a change only unlock. Cost: one test of the tree where nobody waits; a dozen instructions a
// level where nobody waits for so few bytes as became free. Threads: its own.
#pragma once

#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/request/command.hpp>
#include <allot/request/judge.hpp>
#include <allot/request/wait_queue.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/thread_context.hpp>
#include <allot/tree/account_lifetime.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/account_numbers.hpp>
#include <allot/tree/account_peak.hpp>
#include <allot/tree/account_status.hpp>
#include <allot/tree/tree_node.hpp>
#include <allot/tree/wait_order.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// A try that failed, for the arbiter: why, and what others may return where it was refused.
inline oom::command failure_of(const waiter& w) noexcept {
    oom::command c{.what = oom::event::failed, .detail = w.how_it_failed()};
    if (w.own || w.held_back) return c;
    if (w.short_of != nullptr) { // at least what others have there
        const std::size_t own = w.at->used();
        return c.bytes = max(w.used, own) - own, c;
    }
    c.bytes = w.judged->held_by_no_task(*w.at);
    const std::size_t free = w.at->headroom(), room = sum_or_max(w.at->used(), free);
    c.free = free > w.also.bytes ? free - w.also.bytes : 0;
    if (w.holds != nullptr)
        c.number = oom::detail::share_of(sum_or_max(w.holds->used(), w.needs()), room - min(room, c.bytes));
    return c;
}
// Looks for levels that ask, for this thread's free_ahead(). Requires the lock.
ALLOT_COLD inline void note_watermarks(const tree_node& from) noexcept {
    for (const tree_node* n = &from; n != nullptr; n = n->parent())
        if (n->totals().asks_ahead(n->used())) of_this_thread.is_past_watermark = true;
}

class tree_change {
  public:
    ALLOT_ALWAYS_INLINE explicit tree_change(const account_node& a) noexcept : tree(a.tree()), at_(&a) {
        tree.lock.lock();
    }
    // Bytes of the account are refunded.
    ALLOT_ALWAYS_INLINE tree_change(const account_node& a, adopt_lock_t, std::size_t refunds) noexcept
        : tree(a.tree()), at_(&a), refunds_(refunds), looks_(true) {}
    tree_change(const tree_change&) = delete;
    tree_change& operator=(const tree_change&) = delete;
    ALLOT_ALWAYS_INLINE ~tree_change() {
        if (holds_) tree.lock.unlock();
    }

    // Requests may fit that this node, or one above, refused.
    void look_from(const tree_node& at) noexcept {
        at_ = &account_node::of(at);
        looks_ = true;
    }
    void sleeps(waiter& w) noexcept {
        look_from(*w.by);
        slept_ = &w;
    }
    ALLOT_ALWAYS_INLINE void unlock_and_do() noexcept {
        holds_ = false;
        if (ALLOT_LIKELY(!acts())) tree.lock.unlock();
        else choose_and_do(*at_, refunds_, looks_, slept_);
    }
    // The same, but calls nobody.
    void unlock_and_wake() noexcept {
        granted_call none;
        unlock_and_wake(calls::none, none);
    }
    // The same; a queued reservation that is granted is the caller's to call.
    void unlock_and_wake(granted_call& granted) noexcept { unlock_and_wake(calls::granted, granted); }

    // Calls one that was granted, and those that can be granted then. Requires no lock.
    ALLOT_OUTLINE_WARM static void call(granted_call now) noexcept {
        while (now.to != nullptr) {
            account_node& a = *now.by;
            now.to->call(now);
            now = {};
            tree_change{a}.unlock_and_wake(now);
            a.life.leave_refund(); // the last access: the account, and its root, may end
        }
    }

    account_tree& tree;

  private:
    // Whether there is more to do than to unlock. A change that only charges serves no request that waits.
    ALLOT_ALWAYS_INLINE bool acts() const noexcept {
        using unlocking = account_tree::unlocking;
        if (ALLOT_LIKELY(tree.at_unlock == unlocking::unlocks)) return false;
        return tree.at_unlock == unlocking::acts || slept_ != nullptr || (looks_ && !serves_nobody(*at_, tree));
    }
    // Which calls of others the thread may make behind the unlock; those that it may not are left to a later change.
    enum class calls : std::uint8_t {
        none, // it may hold other locks
        granted,
        all,
    };
    void unlock_and_wake(calls may, granted_call& granted) noexcept {
        holds_ = false;
        if (acts()) choose_and_wake(*at_, refunds_, looks_, slept_, may, granted);
        else tree.lock.unlock();
    }
    // Takes values: the object of a change where nobody waits is in registers.
    ALLOT_COLD static void choose_and_do(const account_node& at, std::size_t refunds, bool looks,
                                         waiter* slept) noexcept {
        granted_call granted;
        const auto end_drained = at.tree().end_drained;
        account_node* const drained = choose_and_wake(at, refunds, looks, slept, calls::all, granted);
        call(granted);
        if (drained != nullptr) end_drained(drained); // the last one may destroy the root
    }
    // Returns: the accounts that have drained.
    ALLOT_OUTLINE_COLD static account_node* choose_and_wake(const account_node& at, std::size_t refunds, bool looks,
                                                            waiter* slept, calls may, granted_call& granted) noexcept {
        account_tree& tree = at.tree();
        if (tree.has_watermarks()) note_watermarks(at);
        if (tree.reservations != 0) tree.settle_reservations(const_cast<account_node&>(at));
        if (ALLOT_UNLIKELY(!tree.owed.empty())) tree.pay_owed(at);
        const bool at_all = std::exchange(tree.looks_at_all, false);
        if (tree.peak_copy != nullptr) copy_peak(tree.root(), *tree.peak_copy);
        account_node* const drained = may == calls::all ? std::exchange(tree.drained, nullptr) : nullptr;
        tree.may_grant =
            may != calls::none && drained == nullptr && user_call::may_call_reservations([&](const void* of) {
                return &static_cast<const account_node*>(of)->tree() == &tree;
            });
        waiter* woken = nullptr;
        if (tree.has_waiters()) {
            if (refunds != 0) note_refund(at, refunds, tree);
            if (slept != nullptr) let_pass_behind(*slept, tree);
            if (at_all) woken = choose_of_all(tree, nullptr);
            else if (looks) woken = choose_from(at, tree);
            while (waiter* const first = take_queued(woken)) {
                granted = first->queued->make(*first, tree);
                if (tree.peak_copy != nullptr) copy_peak(tree.root(), *tree.peak_copy);
                if (granted.to != nullptr) break;
                // It sleeps: others fit that did not beside it.
                tree.may_grant = std::exchange(tree.looks_at_all, false);
                woken = choose_of_all(tree, woken);
            }
            woken = signal_looks(woken, tree);
            if (slept != nullptr && !slept->trying && slept->judged != nullptr) // once those are chosen that may try
                slept->judged->post_in_lock(failure_of(*slept));
        }
        tree.wake_sleepers();
        const bool reports = tree.frees.go_to_judge();
        const bool acts = tree.reservations != 0 || !tree.owed.empty() || tree.peak_copy != nullptr ||
                          tree.drained != nullptr || reports || tree.sleeping != 0 || tree.has_watermarks() ||
                          (tree.looks_at_all && tree.has_waiters());
        tree.at_unlock = acts                 ? account_tree::unlocking::acts
                         : tree.has_waiters() ? account_tree::unlocking::serves_waiters
                                              : account_tree::unlocking::unlocks;
        const judged_by judged = tree.judged;
        const std::size_t free_at_root = refunds != 0 && reports ? tree.root().headroom() : 0;
        const bool tells = judged.by != nullptr && (free_at_root != 0 || judged.by->has_signals());
        if (tells) judged.by->enter();
        tree.lock.unlock();
        wait_queue::signal(woken);
        if (free_at_root != 0)
            judged.by->post(
                {.what = oom::event::refunded, .detail = static_cast<std::uint8_t>(judged.kind), .free = free_at_root});
        else if (tells) judged.by->deliver(); // what choose() posted in the lock; post() delivers that, too
        if (tells) judged.by->leave();
        return drained;
    }
    // Copies the tree if its root has a new peak, and notes the most that was charged.
    static void copy_peak(const account_node& root, account_peak& to) noexcept {
        const std::size_t used = root.totals().confirmed();
        if (used <= to.charged()) return; // which is at most to.used()
        const std::size_t promised = promised_below(root);
        to.note(used - promised);
        if (used <= to.used()) return;
        to.begin(used, promised, root.tree().number());
        root.walk([&](const tree_node& n) {
            account_stats f = stats_locked(account_node::of(n));
            f.used = n.totals().confirmed();
            f.subtree_charge = n.totals().confirmed_subtree_charge();
            f.own = n.confirmed_own();
            f.credit = 0; // no leaf takes credit
            f.peak = f.peak > f.used ? f.peak : f.used;
            to.add(f);
        });
    }
    // Takes the one without a thread off those that may try; null: there is none.
    static waiter* take_queued(waiter*& woken) noexcept {
        for (waiter** at = &woken; *at != nullptr; at = &(*at)->next_woken)
            if (waiter* const w = *at; w->queued != nullptr) return *at = w->next_woken, w;
        return nullptr;
    }

    const account_node* at_; // what is chosen may be refused here and above
    const std::size_t refunds_ = 0;
    bool looks_ = false;      // for requests that fit: bytes may have become free
    bool holds_ = true;       // the lock
    waiter* slept_ = nullptr; // one that goes to sleep
};
// Makes a change at and above an account: `make` is called with the lock. Requires: the thread holds no lock of allot.
template <class Make> ALLOT_ALWAYS_INLINE auto change_tree(const account_node& at, Make make) noexcept {
    tree_change now{at};
    auto made = make(now); // not in a block of its own, else it is copied
    now.unlock_and_do();
    return made;
}
template <class Make>
    requires std::is_void_v<std::invoke_result_t<Make, tree_change&>>
ALLOT_ALWAYS_INLINE void change_tree(const account_node& at, Make make) noexcept {
    tree_change now{at};
    make(now);
    now.unlock_and_do();
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
