// The tree's lock, held; a request that looks under it, and again; listeners, being called. All are part of
// account.hpp.
#pragma once

#include <allot/ledger/account_class.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sys/thread.hpp>

#include <cstdint>
#include <mutex>
#include <utility>

namespace allot::inline ALLOT_ABI {

// The tree's lock. Refunds that found it taken are settled first, so whoever holds it sees each that has returned.
// Accounts that drained meanwhile end behind it, unless the tree's mutex may be held, too: then with the next one.
struct account::hold {
    explicit hold(const account& a, bool ends = true) noexcept : root(*a.root_), ends_(ends) {
        root.lock_.lock();
        root.settle_noted();
    }
    hold(const account& a, std::adopt_lock_t) noexcept : root(*a.root_), ends_(true) { root.settle_noted(); }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    ALLOT_ALWAYS_INLINE ~hold() {
        if (ALLOT_UNLIKELY(root.peak_copy_ != nullptr)) root.copy_peak();
        account* const ended = ends_ && root.drained_ != nullptr ? std::exchange(root.drained_, nullptr) : nullptr;
        root.lock_.unlock();
        if (ALLOT_UNLIKELY(ended != nullptr)) finish_all(ended);
    }
    // Lets others in for a moment.
    void breathe() noexcept {
        root.lock_.unlock();
        yield();
        root.lock_.lock();
        root.settle_noted();
    }
    account& root;

    // The root may be gone behind the last.
    static ALLOT_COLD void finish_all(account* ended) noexcept {
        while (ended != nullptr) std::exchange(ended, ended->next_drained_)->finish_drained();
    }

  private:
    const bool ends_;
};

// A request that looks, under the tree's lock, and may look again: how often it has called in what leaves have ahead,
// and its turn where it waits for what is held; who comes to hold more lets it pass first.
struct account::attempt {
    attempt(account& by, hold& tree, how mode) noexcept : by_(by), tree_(tree), mode_(mode) {}
    attempt(const attempt&) = delete;
    attempt& operator=(const attempt&) = delete;
    ~attempt() { tree_.root.waiting_ -= waits_; }
    // True: something has changed, so look again. Else the status says what the request comes to: a refusal, which is
    // counted, or that it goes ahead.
    ALLOT_ALWAYS_INLINE bool looks_again(looked& found) noexcept {
        return ALLOT_UNLIKELY(!found.status.fitted()) && is_to_look_again(found);
    }

  private:
    ALLOT_NOINLINE bool is_to_look_again(looked& found) noexcept {
        charge_status& s = found.status;
        if (called_in_ < by_.most_call_ins()) { // before it is refused, or goes beyond a limit
            ++called_in_;
            if (tree_.root.call_in(*s.at, false) != 0) return true;
        }
        if (mode_ == how::forced) {
            if (s.outcome == charge_outcome::over_limit && !found.absurd) s.outcome = charge_outcome::forced;
        } else if (found.only_pending() && wait()) {
            called_in_ = 0;
            return true;
        }
        if (!s.charged()) ++const_cast<account*>(s.at)->refused_;
        return false;
    }
    // Whoever has it takes pages, and waits for nobody here. False: from inside a call, since it may be this thread
    // that has it.
    bool wait() noexcept {
        if (tree_.root.is_inside_a_call(sys::thread_token())) return false;
        if (!std::exchange(waits_, true)) ++tree_.root.waiting_;
        tree_.breathe();
        return true;
    }

    account& by_;
    hold& tree_;
    const how mode_;
    bool waits_ = false;
    unsigned called_in_ = 0; // since it waited
};

// Listeners are called with no lock held. Each caller has a place on its own stack, linked to the root, so a thread
// that charges from inside a call is known.
struct account::calls {
    explicit calls(const account& a) noexcept : of(a), root(*a.root_), thread(sys::thread_token()) {
        const std::lock_guard tree(root.lock_);
        if ((quiet = root.calls_on(thread))) return;
        next = root.calling_;
        root.calling_ = this;
    }
    calls(const calls&) = delete;
    calls& operator=(const calls&) = delete;
    ~calls() {
        if (quiet) return;
        const std::lock_guard tree(root.lock_);
        calls** at = &root.calling_;
        while (*at != this) at = &(*at)->next;
        *at = next;
    }
    // Calls what(listener, its account) for those of `from` and all above up to `end`, until one says false.
    template <class What> void each(const account& from, What what, const account* end = nullptr) noexcept {
        if (quiet) return;
        root.lock_.lock();
        bool more = true;
        for (const account* a = &from; a != end && more; a = a->parent_)
            for (account_listener* l = a->hears_.first(); l != nullptr;) {
                account_listener& it = *l;
                if (!it.gone_ && more) {
                    ++it.running_;
                    inside = true;
                    root.lock_.unlock();
                    more = what(it, *a);
                    root.lock_.lock();
                    inside = false;
                    --it.running_;
                }
                l = a->hears_.after(it);
                if (it.gone_ && it.running_ == 0) const_cast<account*>(a)->forget(it);
            }
        root.lock_.unlock();
    }
    const account& of;
    account& root;
    const std::uintptr_t thread;
    calls* next = nullptr;
    bool quiet = false;  // this thread is inside a call already
    bool inside = false; // a listener has the thread now; by the lock
};

} // namespace allot::inline ALLOT_ABI
