// Requests that wait for memory. Part of account.hpp.
//
// While a request waits, no leaf of the tree has credit: each refund takes the lock, and the thread that releases it
// wakes the waiters that fit (reclaim/wait_list.hpp). A refund that is deferred looks for waiters.
#pragma once

#include <allot/ledger/account.hpp>
#include <allot/reclaim/find_or_reclaim.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/reclaim/wait_list.hpp>
#include <allot/sync/full_fence.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {

// What the list of waiters asks of the tree. Requires the lock.
struct account::levels {
    static const account& of(const void* a) noexcept { return *static_cast<const account*>(a); }
    static bool is_below(const void* by, const void* at) noexcept { return of(by).tree_node::is_below(of(at)); }
    static bool fits(detail::waiter& w, std::size_t promised) noexcept {
        auto& by = const_cast<account&>(of(w.by));
        if (!by.is_open() || !by.can_ever_fit(w.bytes)) return true; // its request will fail for good
        const std::size_t bytes = detail::sum_or_max(w.bytes, promised);
        limit_check found = check_levels(&by, bytes);
        if (found.charged() && w.also.bytes != 0)
            found = check_levels(&const_cast<account&>(of(w.also.account)), detail::sum_or_max(bytes, w.also.bytes));
        if (found.charged()) return true;
        w.at = account::of(found.at);
        return w.widest != nullptr && !is_below(w.at, w.widest); // it must widen()
    }
};

ALLOT_COLD inline void account::locked::act_and_unlock(const account& by, bool ends, std::size_t refunds) noexcept {
    detail::account_tree& tree = by.tree();
    if (refunds != 0) detail::undoing::count(refunds, [&](const void* at) { return levels::is_below(&by, at); });
    if (tree.peak_copy != nullptr) copy_peak(by.root(), *tree.peak_copy);
    account* const drained = ends ? std::exchange(tree.drained, nullptr) : nullptr;
    detail::waiter* const woken = tree.waiters.wake(levels{});
    tree.acts_at_unlock = tree.peak_copy != nullptr || tree.drained != nullptr || !tree.waiters.empty();
    tree.lock.unlock();
    detail::wait_list::signal(woken);
    end_drained(drained); // the last one may destroy the root
}

// A request that waits in a tree, from construction to destruction.
class account::waiting_request {
  public:
    // Only a limit that others may come below is waited for; not by a thread that others may wait for.
    static bool is_possible(const account& by, const charge_status& why) noexcept {
        if (why.outcome != charge_outcome::over_limit || why.by != refuser::account) return false;
        if (detail::calls_of_this_thread != nullptr || !by.is_open()) return false;
        const locked scope(*why.at, false);
        return limited(by, why).can_ever_fit(why.requested) && !detail::charge_request::is_inside_listener(scope.tree);
    }

    // Whether one must be granted before a request of `by`.
    static bool is_due_before(const account& by) noexcept {
        if (ALLOT_LIKELY(by.tree().waiters.empty())) return false;
        const locked scope(by, false);
        return scope.tree.waiters.is_due_before(&by, levels{});
    }

    waiting_request(const account& by, const charge_status& why, const wait_limit& wait, std::uint64_t end) noexcept
        : by_(by), in_(why.at->root()), cancelled_{wait.end, w_.spot}, end_(end) {
        w_.by = &limited(by, why);
        {
            const locked scope(in_);
            tries_ = !scope.tree.waiters.is_due_before(w_.by, levels{});
            scope.tree.waiters.add(w_);
            scope.tree.acts_at_unlock = true;
            scope.tree.recall_credit(in_);
        }
        if (&by_.root() != &in_) {
            const locked scope(by_.root(), false);
            scope.tree.watches.add(closed_);
        }
        full_fence(); // a refund that is deferred meanwhile sees the waiter, or the request sees the refund
        widen(*why.at);
    }
    waiting_request(const waiting_request&) = delete;
    waiting_request& operator=(const waiting_request&) = delete;
    ~waiting_request() {
        {
            const locked scope(in_);
            scope.tree.waiters.remove(w_);
        }
        if (&by_.root() != &in_) {
            const locked scope(by_.root(), false);
            scope.tree.watches.remove(closed_);
        }
        levels::of(w_.widest).settle_waits();
    }

    // Whether the request is to be made now. False: another is first.
    bool tries() const noexcept { return tries_; }
    bool is_in_tree_of(const charge_status& why) const noexcept { return &why.at->root() == &in_; }
    // With what the try returned, too.
    bool can_ever_fit(const charge_status& why) const noexcept {
        const locked scope(in_, false);
        return why.at->can_ever_fit(detail::sum_or_max(why.requested, w_.undone_at(why.at)));
    }
    template <class Request> bool make(Request request) noexcept {
        w_.undone = {};
        detail::trying_of_this_thread = &w_;
        const bool granted = request();
        detail::trying_of_this_thread = nullptr;
        return granted;
    }
    bool is_cancelled() const noexcept { return cancelled_.is_cancelled(); }
    // Sleeps, unless memory may be free now. True: the request may be made again. False: the time has come, or the wait
    // was cancelled.
    bool sleep(const charge_status& why) noexcept {
        if (tries_ && widen(*why.at)) return true;
        if (is_over_ || is_cancelled()) return false;
        {
            const locked scope(in_);
            w_.by = &limited(by_, why);
            w_.at = why.at;
            w_.bytes = why.requested;
            w_.also = {why.at, w_.undone_at(why.at)};
            scope.tree.waiters.sleep(w_);
        } // may wake it
        std::uint32_t signals = 0;
        do signals = w_.spot.wait_until(end_);
        while (signals == detail::closing_watch::closed && by_.is_open()); // another account was closed
        {
            const locked scope(in_);
            tries_ = std::exchange(w_.trying, true);
        }
        while (tries_ && (signals & detail::waiter::try_again) == 0)
            signals |= w_.spot.wait_until(sys::parking::never); // it is being sent, and must not come to a later waiter
        is_over_ = sys::parking::is_past(end_);                 // though more may be announced
        return tries_ && !is_cancelled();
    }

  private:
    // The lowest account whose limits a request must fit that one refused: a buffer's memory may be charged elsewhere.
    static const account& limited(const account& by, const charge_status& why) noexcept {
        return levels::is_below(&by, why.at) ? by : *why.at;
    }
    // Has caches emptied, and kept empty, of all objects below an account that refuses. True: so memory may be free
    // now. False: done before.
    bool widen(const account& at) noexcept {
        {
            const locked scope(in_);
            if (w_.widest != nullptr && levels::is_below(&at, w_.widest)) return false;
            w_.widest = &at;
        }
        at.settle_waits();
        return true;
    }

    const account& by_;
    account& in_; // the root
    detail::waiter w_;
    detail::closing_watch closed_{w_.spot}; // of by_, if that is in another tree
    const cancellation::sleeper cancelled_;
    const std::uint64_t end_;
    bool tries_ = false, is_over_ = false;
};

inline bool account::is_waited_for() const noexcept {
    if (tree().waiters.empty()) return false;
    const locked scope(*this, false);
    return scope.tree.waiters.any_above(this, levels{});
}
ALLOT_COLD inline void account::announce_unused() noexcept {
    const locked scope(*this, false);
    scope.tree.waiters.announce(this, levels{}, detail::undoing::now());
} // may wake one
inline std::uint32_t account::count_sleeping() const noexcept { return tree().waiters.sleeping_below(this, levels{}); }
template <class Request>
ALLOT_COLD bool account::wait_for(charge_status& why, const wait_limit& wait, Request request) noexcept {
    const std::uint64_t end = wait.deadline();
    while (waiting_request::is_possible(*this, why)) {
        waiting_request here{*this, why, wait, end};
        bool granted = here.tries() && here.make(request), waits = true;
        while (!granted && waits && waiting_request::is_possible(*this, why) && here.is_in_tree_of(why)) {
            waits = here.can_ever_fit(why) && here.sleep(why);
            granted = waits && here.make(request);
        }
        if (granted) return true;
        if (here.is_cancelled()) why.outcome = charge_outcome::cancelled;
        if (!waits) break;
    }
    if (why.outcome == charge_outcome::over_limit && !is_open()) why = why_closed(why.requested);
    return false;
}
inline charge_status account::charge_for(std::size_t bytes, const wait_limit& wait) noexcept {
    const auto request = [&](charge_status& s) { return (s = try_charge(bytes)).charged(); };
    charge_status s;
    if (!waiting_request::is_due_before(*this)) {
        if (request(s)) return s;
    } else {
        s = status(charge_outcome::over_limit, bytes, used(), limit());
    }
    wait_for(s, wait, [&] { return request(s); });
    return s;
}

} // namespace allot::inline ALLOT_ABI
