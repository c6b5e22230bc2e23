// Calls the listeners of a tree of accounts about an event, after it and with no lock held.
//
// No listener is called for what a thread does inside a call, so no call is inside another. A listener that is removed
// while calls of it run is unlinked after the last of them.
// Invariant: a listener is in one list, its home's, from add() until it is unlinked. Cost: 4 bytes in the root; an event
// takes the lock once, and once more per call. Threads: any.
#pragma once

#include <allot/account/account_listener.hpp>
#include <allot/account/tree_lock.hpp>
#include <allot/account/tree_node.hpp>
#include <allot/config.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/lock_rank.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class listener_dispatch {
  public:
    // Whether there are listeners or injectors, for one test in each charge.
    bool are_watching() const noexcept { return watching_.load(std::memory_order_relaxed) != 0; }
    void count_injector(bool added) noexcept { watching_.fetch_add(added ? 1 : UINT32_MAX, std::memory_order_relaxed); }

    // ---- Requires the tree's lock ----------------------------------------------------------------------------

    // False: it is in a list already.
    bool add(account_listener& listener, tree_node& home) noexcept {
        if (listener.home_ == &home) listener.removed_ = false; // removed in a call that still runs
        if (listener.home_ != nullptr) return false;
        listener.home_ = &home;
        listener.removed_ = false;
        home.listeners_.add(listener);
        watching_.fetch_add(1, std::memory_order_relaxed);
        return true;
    }
    enum class removal : std::uint8_t { done, not_waited, wait };
    // not_waited: this thread is inside a call itself, so it must not wait. wait: unlock and retry.
    removal remove(account_listener& listener, tree_node& home) noexcept {
        if (listener.home_ != &home) return removal::done;
        listener.removed_ = true;
        if (listener.running_calls_ == 0) return forget(listener, home), removal::done;
        return user_call::is_inside_listener() ? removal::not_waited : removal::wait;
    }

    // ---- without the lock ------------------------------------------------------------------------------------

    // Calls what(listener) for the listeners of `from` and all above; with `beside` up to and without the first node
    // that is above that one, too. A call may change the tree. `about`: what waits for the end of the calls.
    template <class What>
    ALLOT_NOINLINE void each(tree_lock& lock, tree_node& from, What what, const void* about = nullptr,
                             const tree_node* beside = nullptr) noexcept {
        if (user_call::is_inside_listener()) return;
        const lock_guard hold(lock);
        for (tree_node* n = &from; n != nullptr && !(beside != nullptr && beside->is_below(*n)); n = n->parent_)
            for (account_listener* l = n->listeners_.first(); l != nullptr;) {
                account_listener& it = *l;
                if (!it.removed_) call(lock, it, what, about);
                l = n->listeners_.after(it);
                if (it.removed_ && it.running_calls_ == 0) forget(it, *n);
            }
    }

  private:
    // Requires the lock, which it releases during the call.
    template <class What>
    static void call(tree_lock& lock, account_listener& it, What what, const void* about) noexcept {
        ++it.running_calls_;
        lock.unlock();
        check_no_lock_is_held("calls a listener");
        {
            const user_call here{user_call::kind::listener, about};
            what(it);
        }
        lock.lock();
        --it.running_calls_;
    }
    void forget(account_listener& listener, tree_node& home) noexcept {
        home.listeners_.remove(listener);
        listener.home_ = nullptr;
        watching_.fetch_sub(1, std::memory_order_relaxed);
    }

    std::atomic<std::uint32_t> watching_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
