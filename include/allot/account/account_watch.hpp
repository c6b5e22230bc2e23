// Statistics, listeners, items and logs of an account. Part of account.hpp.
#pragma once

#include <allot/account/account.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>

#include <cstddef>
#include <utility>

namespace allot::inline ALLOT_ABI {

// ---- statistics: an item may ask for them, with the mutex held, so none ends drained accounts
// ------------------------

inline std::size_t account::used() const noexcept {
    const locked scope(*this, false);
    return tree_node::used();
}
inline std::size_t account::peak() const noexcept {
    const locked scope(*this, false);
    return tree_node::peak();
}
inline std::size_t account::headroom() const noexcept {
    const locked scope(*this, false);
    return is_open() ? tree_node::headroom() : 0;
}
inline account* account::parent() const noexcept {
    const locked scope(*this, false);
    return of(tree_node::parent());
}
inline bool account::over_limit() const noexcept {
    const locked scope(*this, false);
    return first_over_limit(this) != nullptr;
}
inline account_stats account::stats() const noexcept {
    const detail::lock_guard whole(shape());
    return stats_now();
}
// Requires the mutex.
inline account_stats account::stats_now() const noexcept {
    std::size_t committed = 0, resident = 0;
    each_item([&](const account_item& i) {
        const item_stats its = i.stats();
        committed += its.committed;
        resident += its.resident;
    });
    const locked scope(*this, false);
    account_stats f = stats_locked();
    f.committed = committed;
    f.resident = resident;
    return f;
}
// Requires the lock.
inline account_stats account::stats_locked() const noexcept {
    account_stats f = tree_node::stats();
    f.buffers = life_.counts().now(detail::open_counts::buffers);
    f.buffer_reservations = life_.counts().now(detail::open_counts::buffer_reservations);
    f.waiting = count_sleeping();
    return f;
}
inline bool account::verify() const noexcept {
    const detail::lock_guard whole(shape());
    const locked scope(*this, false);
    bool ok = valid();
    walk([&](const tree_node& n) {
        const account& a = *of(&n);
        const bool no_credit = !a.credit().word().open();
        ok = ok && a.items_.valid() && (a.log() == nullptr || no_credit) && (a.is_open() || no_credit);
        ok = ok && (&n == this || of(n.tree_node::parent())->is_open() || !a.is_open());
    });
    return ok;
}

template <class Visit> void account::visit(Visit visit) const {
    const detail::lock_guard whole(shape());
    walk([&](const tree_node& n) {
        const account& a = *of(&n);
        visit(static_cast<const account_stats&>(a.stats_now()), a);
    });
}
template <class Visit> void account::each_item(Visit visit) const {
    for (const account_item* i = items_.first(); i != nullptr; i = items_.after(*i)) visit(*i);
}

// ---- listeners, items, logs --------------------------------------------------------------------------------------

inline void account::add(account_listener& listener) noexcept {
    const locked scope(*this);
    if (scope.tree.listeners.add(listener, *this)) scope.tree.recall_credit(*this);
}
inline bool account::remove(account_listener& listener) noexcept {
    using removal = detail::listener_dispatch::removal;
    for (;; yield()) {
        const locked scope(*this);
        const removal r = scope.tree.listeners.remove(listener, *this);
        if (r != removal::wait) return r == removal::done;
    }
}
inline void account::add(detail::injector& i) noexcept {
    arbiter().add(i);
    const locked scope(*this);
    scope.tree.injectors.fetch_add(1, std::memory_order_relaxed);
    scope.tree.listeners.count_injector(true);
    scope.tree.recall_credit(*this);
}
inline void account::remove(detail::injector& i) noexcept {
    tree().listeners.count_injector(false);
    tree().injectors.fetch_sub(1, std::memory_order_relaxed);
    arbiter().remove(i);
}
inline void account::add(reclaimer& r) noexcept {
    tree().reclaimers.add(r, *this, shape());
    notify_unused();
}
inline void account::add(account_item& item) noexcept {
    const detail::lock_guard whole(shape());
    const locked scope(*this, false);
    items_.add(item);
}
inline void account::remove(account_item& item) noexcept {
    account* drained = nullptr;
    {
        const detail::lock_guard whole(shape());
        const locked scope(*this, false);
        items_.remove(item);
        end_if_drained();
        drained = std::exchange(scope.tree.drained, nullptr);
    }
    end_drained(drained); // takes the mutex; may destroy this account
}
inline void account::set_log(account_log* log) noexcept {
    const locked scope(*this);
    log_.store(log, std::memory_order_release);
    if (log != nullptr && credit().has_step()) close_credit();
}

} // namespace allot::inline ALLOT_ABI
