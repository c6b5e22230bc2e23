// The listeners of a tree of accounts: called about an event, after it and with no lock held.
//
// No listener is called for what a thread does inside a call, so no call is inside another.
// Invariant: a listener is on the list from add_locked() to remove(); no call of it runs after that. Those of inner
// accounts are called before those of outer ones. Cost: 32 bytes; an event takes the lock once, and once more per call.
// Threads: any; the tree's lock guards the list.
#pragma once

#include <allot/config.hpp>
#include <allot/core/function_ref.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/sync/called_list.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/tree/account_listener.hpp>
#include <allot/tree/tree_lock.hpp>
#include <allot/tree/tree_node.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class observers {
    using list = called_list<account_listener, &account_listener::place_>;
    struct inner_first {
        bool operator()(const account_listener& a, const account_listener& b) const noexcept {
            return a.home_->depth() > b.home_->depth();
        }
    };

  public:
    // Whether there are listeners or injectors, for one test in each charge.
    bool are_watching() const noexcept { return watching_.load(std::memory_order_relaxed) != 0; }
    void count_injector(bool added) noexcept { count(added); }

    // Requires the lock. False: it was added before.
    bool add_locked(account_listener& listener, tree_node& home) noexcept {
        if (list::is_listed(listener) || (list::is_called(listener) && listener.home_ != &home)) return false;
        listener.home_ = &home;
        all_.add_locked(listener, inner_first{});
        home.count_listener(true);
        count(true);
        return true;
    }
    // Waits for a call of it that runs on another thread. False: one runs on this thread; no other begins.
    bool remove(tree_lock& lock, account_listener& listener, tree_node& home) noexcept {
        return all_.remove(lock, listener, [&] {
            if (listener.home_ != &home) return true;
            if (list::is_listed(listener)) home.count_listener(false), count(false);
            const bool done = all_.take_off_locked(listener);
            if (done) listener.home_ = nullptr;
            return done;
        });
    }
    // Calls call(listener) for the listeners of `from` and all above, without a lock; with `beside` up to and without
    // the first node that is above that one, too. A call may change the tree. `about`: what waits for the calls' end.
    ALLOT_OUTLINE void each(tree_lock& lock, const tree_node& from, function_ref<void(account_listener&)> call,
                            const void* about = nullptr, const tree_node* beside = nullptr) noexcept {
        if (user_call::is_inside_listener()) return;
        const auto hears = [&](const account_listener& l) {
            const bool does = from.is_below(*l.home_) && (beside == nullptr || !beside->is_below(*l.home_));
            return does ? walk_step::call : walk_step::skip;
        };
        list::walk<tree_lock> all(all_, lock);
        while (account_listener* const it = all.next(hears)) {
            check_no_lock_is_held("calls a listener");
            const user_call here{user_call::kind::listener, about};
            call(*it);
        }
    }

  private:
    void count(bool added) noexcept { watching_.fetch_add(added ? 1 : UINT32_MAX, std::memory_order_relaxed); }

    list all_;
    std::atomic<std::uint32_t> watching_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
