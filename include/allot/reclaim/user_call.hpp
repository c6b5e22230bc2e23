// Calls of a user's code that a thread is inside of: of a reclaimer, or of an account's listener.
//
// A request that is made in a call does not wait: other threads may wait for the thread of the call. Invariant:
// calls end in reverse order. Cost: 8 bytes per thread; 32 on the stack per call. Threads: the thread itself.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

class user_call;
inline constinit thread_local const user_call* calls_of_this_thread = nullptr;

class user_call {
  public:
    enum class kind : unsigned char { reclaimer, listener };

    // `of`: what is called. `about`: what waits for the end of the call before it ends; null: nothing.
    explicit user_call(const void* of, kind k = kind::reclaimer, const void* about = nullptr) noexcept
        : of_(of), about_(about), outer_(calls_of_this_thread), kind_(k) {
        calls_of_this_thread = this;
    }
    user_call(const user_call&) = delete;
    user_call& operator=(const user_call&) = delete;
    ~user_call() { calls_of_this_thread = outer_; }

    static bool is_inside_any() noexcept { return calls_of_this_thread != nullptr; }
    static bool is_inside(const void* of) noexcept {
        return any([&](const user_call& c) { return c.of_ == of; });
    }
    static bool is_inside_listener() noexcept {
        return any([](const user_call& c) { return c.kind_ == kind::listener; });
    }
    static bool is_about(const void* what) noexcept {
        return any([&](const user_call& c) { return c.about_ == what; });
    }

  private:
    template <class Is> static bool any(Is is) noexcept {
        const user_call* c = calls_of_this_thread;
        while (c != nullptr && !is(*c)) c = c->outer_;
        return c != nullptr;
    }

    const void* const of_;
    const void* const about_;
    const user_call* const outer_;
    const kind kind_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
