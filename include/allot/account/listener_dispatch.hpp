// Calls the listeners of a tree of accounts: with no lock held, and never one call inside another.
//
// A round is the calls for one event; it lives on its thread's stack and is linked here. So a thread that charges from
// inside a call is known, and its own rounds call no listener. A listener that is removed while calls of it run is
// unlinked after the last of them.
// Invariant: a listener is in one list, its home's, from add() until it is unlinked. Cost: 16 bytes in the root; a
// round takes the lock twice, and twice more per call. Threads: any.
#pragma once

#include <allot/account/account_listener.hpp>
#include <allot/account/tenant.hpp>
#include <allot/account/tree_lock.hpp>
#include <allot/account/tree_node.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class listener_dispatch {
  public:
    class round;

    bool has_listeners() const noexcept { return listeners_.load(std::memory_order_relaxed) != 0; }

    // ---- Requires the tree's lock ----------------------------------------------------------------------------

    // False: it is in a list already.
    bool add(account_listener& listener, tree_node& home) noexcept {
        if (listener.home_ == &home) listener.removed_ = false; // removed in a call that still runs
        if (listener.home_ != nullptr) return false;
        listener.home_ = &home;
        listener.removed_ = false;
        home.listeners_.add(listener);
        listeners_.fetch_add(1, std::memory_order_relaxed);
        return true;
    }
    enum class removal : std::uint8_t { done, not_waited, wait };
    // not_waited: this thread is inside a call itself, so it must not wait. wait: unlock and retry.
    removal remove(account_listener& listener, tree_node& home) noexcept {
        if (listener.home_ != &home) return removal::done;
        listener.removed_ = true;
        if (listener.running_calls_ == 0) return forget(listener, home), removal::done;
        return has_round(sys::thread_token()) ? removal::not_waited : removal::wait;
    }
    // Whether the thread is inside a listener.
    bool is_inside_listener(std::uintptr_t thread) const noexcept;

    // ---- without the lock ------------------------------------------------------------------------------------

    // Waits until no other thread has a round about this node.
    void wait_for_rounds(const tree_node& about, tree_lock& lock) const noexcept;

  private:
    bool has_round(std::uintptr_t thread) const noexcept;
    void forget(account_listener& listener, tree_node& home) noexcept {
        home.listeners_.remove(listener);
        listener.home_ = nullptr;
        listeners_.fetch_sub(1, std::memory_order_relaxed);
    }

    round* rounds_ = nullptr;
    std::atomic<std::uint32_t> listeners_{0};
};

// The calls for one event of `about`.
class listener_dispatch::round {
  public:
    ALLOT_NOINLINE round(listener_dispatch& by, tree_lock& lock, const tree_node& about) noexcept
        : by_(by), lock_(lock), about_(about), thread_(sys::thread_token()) {
        if (begin()) return;
        nested_ = true;
        report_misuse({.kind = misuse::request_in_listener, .heap = about.name()});
    }
    round(const round&) = delete;
    round& operator=(const round&) = delete;
    ~round() {
        if (nested_) return;
        const lock_guard hold(lock_);
        round** at = &by_.rounds_;
        while (*at != this) at = &(*at)->next_;
        *at = next_;
    }
    // Calls what(listener, home) for the listeners of `from` and all above, until one returns false; with `beside` up
    // to and without the first node that is above that one, too. A call may change the tree.
    template <class What> void each(tree_node& from, What what, const tree_node* beside = nullptr) noexcept {
        if (nested_) return;
        const lock_guard hold(lock_);
        bool more = true;
        for (tree_node* n = &from; n != nullptr && more && !(beside != nullptr && beside->is_below(*n)); n = n->parent_)
            for (account_listener* l = n->listeners_.first(); l != nullptr;) {
                account_listener& it = *l;
                if (!it.removed_ && more) more = call(it, [&] { return what(it, *n); });
                l = n->listeners_.after(it);
                if (it.removed_ && it.running_calls_ == 0) by_.forget(it, *n);
            }
    }

  private:
    friend class listener_dispatch;
    // False: this thread has a round already, so it is inside a listener.
    bool begin() noexcept {
        const lock_guard hold(lock_);
        if (by_.has_round(thread_)) return false;
        next_ = by_.rounds_;
        by_.rounds_ = this;
        return true;
    }
    // Requires the lock, which it releases during the call.
    template <class Call> bool call(account_listener& it, Call call) noexcept {
        ++it.running_calls_;
        inside_ = true;
        lock_.unlock();
        check_no_lock_is_held("calls a listener");
        const bool more = [&] {
            const bars_idle_steps here;
            return call();
        }();
        lock_.lock();
        inside_ = false;
        --it.running_calls_;
        return more;
    }
    listener_dispatch& by_;
    tree_lock& lock_;
    const tree_node& about_;
    const std::uintptr_t thread_;
    round* next_ = nullptr;
    bool nested_ = false; // this thread has a round already
    bool inside_ = false; // the thread is inside a listener; requires the lock
};

inline bool listener_dispatch::has_round(std::uintptr_t thread) const noexcept {
    for (const round* r = rounds_; r != nullptr; r = r->next_)
        if (r->thread_ == thread) return true;
    return false;
}
inline bool listener_dispatch::is_inside_listener(std::uintptr_t thread) const noexcept {
    for (const round* r = rounds_; r != nullptr; r = r->next_)
        if (r->thread_ == thread && r->inside_) return true;
    return false;
}
inline void listener_dispatch::wait_for_rounds(const tree_node& about, tree_lock& lock) const noexcept {
    const std::uintptr_t me = sys::thread_token();
    for (bool running = true; running; running ? yield() : void()) {
        const lock_guard hold(lock);
        running = false;
        for (const round* r = rounds_; r != nullptr; r = r->next_)
            running = running || (&r->about_ == &about && r->thread_ != me);
    }
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
