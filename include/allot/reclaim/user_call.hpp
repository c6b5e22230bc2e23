// Calls of a user's code that a thread is inside of: of a reclaimer, of an account's listener, of a reservation that
// was queued, or of a visit.
//
// A request that is made in a call does not wait: other threads may wait for the thread of the call. Invariant:
// calls end in reverse order. Cost: 24 bytes on the stack per call. Threads: the thread itself.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/thread_context.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class user_call {
  public:
    enum class kind : unsigned char {
        reclaimer,
        listener,
        reservation, // account/queued_reservation.hpp; about its account
        callback,    // the same; about the reservation
        visit,       // under a lock
    };

    // `about`: what waits for the end of the call before it ends; null: nothing.
    explicit user_call(kind k, const void* about = nullptr) noexcept
        : about_(about), outer_(of_this_thread.call), kind_(k) {
        of_this_thread.call = this;
    }
    user_call(const user_call&) = delete;
    user_call& operator=(const user_call&) = delete;
    ~user_call() { of_this_thread.call = outer_; }

    static bool is_inside_any() noexcept { return of_this_thread.call != nullptr; }
    static bool is_inside_listener() noexcept {
        return any([](const user_call& c) { return c.kind_ == kind::listener; });
    }
    // Whether a request may wait for a thread that holds bytes: that may be this one.
    static bool may_wait_for_holders() noexcept {
        return !any([](const user_call& c) { return c.kind_ == kind::listener || c.kind_ == kind::reservation; });
    }
    // Whether a reservation of a tree may be called: no other one of it is, and no lock is held. `in_tree`: of an
    // account.
    template <class InTree> static bool may_call_reservations(InTree in_tree) noexcept {
        return !any([&](const user_call& c) {
            return c.kind_ == kind::visit ||
                   (c.kind_ == kind::reservation && (c.about_ == nullptr || in_tree(c.about_)));
        });
    }
    // Whether the thread may free memory that it needs for no request of its own: in the call of a reservation, too.
    static bool may_free_ahead() noexcept {
        return !any([](const user_call& c) { return c.kind_ != kind::reservation && c.kind_ != kind::callback; });
    }
    // Calls that the thread is inside of.
    static std::uint32_t calls_about(const void* what) noexcept {
        std::uint32_t n = 0;
        for (const user_call* c = of_this_thread.call; c != nullptr; c = c->outer_) n += c->about_ == what;
        return n;
    }
    // The object ends inside calls of it.
    static void forget(const void* what) noexcept {
        for (const user_call* c = of_this_thread.call; c != nullptr; c = c->outer_)
            if (c->about_ == what) c->about_ = nullptr;
    }
    const void* about() const noexcept { return about_; }

  private:
    template <class Is> static bool any(Is is) noexcept {
        const user_call* c = of_this_thread.call;
        while (c != nullptr && !is(*c)) c = c->outer_;
        return c != nullptr;
    }

    mutable const void* about_;
    const user_call* const outer_;
    const kind kind_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
