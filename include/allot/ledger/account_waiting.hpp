// Requests that wait for memory. Part of account.hpp.
//
// While a request waits, no leaf of the tree has credit: each refund takes the lock, and the thread that releases it
// wakes the waiters that fit (reclaim/wait_list.hpp). A refund that is deferred looks for waiters.
#pragma once

#include <allot/ledger/account.hpp>
#include <allot/reclaim/find_or_reclaim.hpp>
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
        const std::size_t bytes = w.bytes < SIZE_MAX - promised ? w.bytes + promised : SIZE_MAX;
        const limit_check found = check_levels(&by, bytes);
        if (found.charged()) return true;
        w.at = account::of(found.at);
        return false;
    }
};

ALLOT_COLD inline void account::locked::act_and_unlock(detail::account_tree& tree, const account& root,
                                                       bool ends) noexcept {
    if (tree.peak_copy != nullptr) copy_peak(root, *tree.peak_copy);
    account* const drained = ends ? std::exchange(tree.drained, nullptr) : nullptr;
    detail::waiter* const woken = tree.waiters.wake(levels{});
    tree.acts_at_unlock = tree.peak_copy != nullptr || tree.drained != nullptr || !tree.waiters.empty();
    tree.lock.unlock();
    detail::wait_list::signal(woken);
    end_drained(drained); // the last one may destroy the root
}

// Only a limit that others may come below is waited for; not by a thread that others may wait for.
inline bool account::can_wait(const charge_status& why) const noexcept {
    if (why.outcome != charge_outcome::over_limit || why.by != refuser::account) return false;
    if (detail::calls_of_this_thread != nullptr) return false;
    const locked scope(*why.at, false);
    const account& by = &root() == &why.at->root() ? *this : *why.at;
    return by.can_ever_fit(why.requested) && !detail::charge_request::is_inside_listener(scope.tree);
}
// True: the request must be made again. False: another is first, so it sleeps.
inline bool account::begin_waiting(detail::waiter& w) noexcept {
    bool tries = false;
    {
        const locked scope(*this);
        tries = !scope.tree.waiters.is_due_before(w.by, levels{});
        scope.tree.waiters.add(w);
        scope.tree.acts_at_unlock = true;
        scope.tree.recall_credit(root());
    }
    full_fence(); // a refund that is deferred meanwhile sees the waiter, or the request sees the refund
    return tries;
}
// True: the request may be made again. False: the time has come, or the wait was cancelled.
inline bool account::sleep(detail::waiter& w, const charge_status& why, std::uint64_t end,
                           const cancellation::sleeper& ends) noexcept {
    if (ends.is_cancelled()) return false;
    {
        const locked scope(*this);
        w.at = why.at;
        w.bytes = why.requested;
        w.trying = false;
    } // may wake it
    std::uint32_t signals = w.spot.wait_until(end);
    bool woken = false;
    {
        const locked scope(*this);
        woken = std::exchange(w.trying, true);
    }
    while (woken && (signals & detail::waiter::try_again) == 0)
        signals |= w.spot.wait_until(sys::parking::never); // it is being sent, and must not come to a waiter that ended
    return woken && !ends.is_cancelled();
}
inline void account::end_waiting(detail::waiter& w) noexcept {
    const locked scope(*this);
    scope.tree.waiters.remove(w);
}
ALLOT_COLD inline void account::announce_unused() noexcept {
    const locked scope(*this, false);
    scope.tree.waiters.announce(this, levels{});
} // may wake one
inline bool account::is_due_before_this() const noexcept {
    if (ALLOT_LIKELY(tree().waiters.empty())) return false;
    const locked scope(*this, false);
    return scope.tree.waiters.is_due_before(this, levels{});
}

template <class Request>
ALLOT_COLD bool account::wait_for(charge_status& why, const wait_limit& wait, Request request) noexcept {
    const std::uint64_t end = wait.deadline();
    const auto try_again = [&] {
        detail::this_thread_waits = true;
        const bool granted = request();
        detail::this_thread_waits = false;
        return granted;
    };
    while (can_wait(why)) {
        account& in = why.at->root(); // the request may be refused by one tree, then by another
        detail::waiter w;
        const cancellation::sleeper ends{wait.end, w.spot};
        w.by = &root() == &in ? this : why.at;
        bool granted = in.begin_waiting(w) && try_again(), waits = true;
        while (!granted && waits && can_wait(why) && &why.at->root() == &in) {
            waits = in.sleep(w, why, end, ends);
            granted = waits && try_again();
            waits = waits && !sys::parking::is_past(end); // though more may be announced
        }
        in.end_waiting(w);
        if (granted) return true;
        if (ends.is_cancelled()) why.outcome = charge_outcome::cancelled;
        if (!waits) return false;
    }
    return false;
}
inline charge_status account::charge_for(std::size_t bytes, const wait_limit& wait) noexcept {
    const auto request = [&](charge_status& s) { return (s = try_charge(bytes)).charged(); };
    charge_status s;
    if (!is_due_before_this()) {
        if (request(s)) return s;
    } else {
        s = status(charge_outcome::over_limit, bytes, used(), limit());
    }
    wait_for(s, wait, [&] { return request(s); });
    return s;
}

} // namespace allot::inline ALLOT_ABI
