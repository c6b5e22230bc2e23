// How an account's listeners are called: with no lock held, and never one inside another.
//
// Everything here is part of account.hpp.
#pragma once

#include <allot/ledger/account.hpp>
#include <allot/sys/thread.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace allot::inline ALLOT_ABI {

// Whether this thread is inside a call; the lock is held.
inline bool account::calls_on(std::uintptr_t thread) const noexcept {
    for (const calls* c = calling_; c != nullptr; c = c->next)
        if (c->thread == thread) return true;
    return false;
}
// A listener has it. The lock is held.
inline bool account::is_inside_a_call(std::uintptr_t thread) const noexcept {
    for (const calls* c = calling_; c != nullptr; c = c->next)
        if (c->thread == thread && c->inside) return true;
    return false;
}
inline void account::forget(account_listener& listener) noexcept {
    hears_.remove(listener);
    listener.home_ = nullptr;
    root_->listeners_.fetch_sub(1, std::memory_order_relaxed);
}
inline void account::wait_for_calls() const noexcept {
    const std::uintptr_t me = sys::thread_token();
    for (bool running = true; running; running ? yield() : void()) {
        const std::lock_guard tree(root_->lock_);
        running = false;
        for (const calls* c = root_->calling_; c != nullptr; c = c->next)
            running = running || (&c->of == this && c->thread != me);
    }
}
inline void account::add(account_listener& listener) noexcept {
    const hold tree(*this);
    if (listener.home_ == this) listener.gone_ = false; // taken off in a call that is under way
    if (listener.home_ != nullptr) return;              // it has a place already
    listener.home_ = this;
    listener.gone_ = false;
    hears_.add(listener);
    root_->listeners_.fetch_add(1, std::memory_order_relaxed);
    root_->call_in(*this, true);
}
inline bool account::remove(account_listener& listener) noexcept {
    const std::uintptr_t me = sys::thread_token();
    for (;; yield()) {
        const hold tree(*this);
        if (listener.home_ != this) return true;
        listener.gone_ = true;
        if (listener.running_ == 0) return forget(listener), true;
        if (root_->calls_on(me)) return false; // who calls it takes it off
    }
}
inline void account::tell_children(account& parent, bool added) noexcept {
    if (!heard()) return;
    calls told(parent);
    told.each(parent, [&](account_listener& l, const account&) {
        return added ? l.child_added(*this) : l.child_removed(*this), true;
    });
}
inline void account::log_event(const char* what, std::size_t bytes) noexcept {
    if (account_log* const to = log()) to->record(what, bytes, used());
}

inline charge_status account::charge_slowly(std::size_t bytes, how mode) noexcept {
    charge_status s;
    if (!heard()) s = charge_locked(bytes, mode);
    else {
        calls told(*this);
        if (mode != how::forced)
            told.each(*this, [&](account_listener& l, const account& at) {
                if (l.before(*this, bytes)) return true;
                s = {charge_outcome::vetoed, &at, bytes, at.used(), at.limit()};
                return false;
            });
        if (s.charged()) {
            s = charge_locked(bytes, mode);
            unsigned tries = 0;
            if (!s.charged())
                told.each(*this, [&](account_listener& l, const account&) {
                    const unsigned its = l.failed(*this, s);
                    tries = its > tries ? its : tries;
                    return true;
                });
            for (; !s.charged() && tries != 0; --tries) s = charge_locked(bytes, mode);
            if (s.charged())
                told.each(*this, [&](account_listener& l, const account&) { return l.after(*this, bytes, s), true; });
        }
    }
    if (ALLOT_UNLIKELY(log() != nullptr)) log_event(s.charged() ? "charge" : "refused charge", bytes);
    return s;
}
template <class Landed> inline void account::refund_slowly(std::size_t bytes, Landed landed) noexcept {
    give_back_told("refund", bytes, [&] { refund_now(bytes); }, landed);
}
inline void account::refund_slowly(std::size_t bytes) noexcept {
    refund_slowly(bytes, [] {});
}
inline void account::cancel(std::size_t bytes) noexcept {
    by_its_thread();
    give_back_told("cancel", bytes, [&] { cancel_now(bytes); }, [] {});
}
template <class Now, class Landed>
ALLOT_ALWAYS_INLINE void account::give_back_told(const char* what, std::size_t bytes, Now now, Landed landed) noexcept {
    if (ALLOT_UNLIKELY(log() != nullptr))
        log_event(what, bytes); // before: nothing of the account may be touched after it
    if (!heard()) return now(), landed();
    const auto tell = [&](account_listener& l, const account&) { return l.released(*this, bytes), true; };
    {
        calls told(*this);
        if (is_open()) { // else it may be the last of it, which ends the account
            now();
            landed();
            return told.each(*this, tell);
        }
        landed(); // nobody may charge it any more
        told.each(*this, tell);
    }
    now();
}
inline charge_status account::move(account& from, account& to, std::size_t bytes, how mode) noexcept {
    if (from.root_ != to.root_) {
        tell_misuse({.kind = misuse::other_tree, .heap = to.name_});
        return {charge_outcome::misused, &to, bytes, to.used(), to.limit()};
    }
    if (&from == &to || bytes == 0) return {};
    from.by_its_thread(), to.by_its_thread();
    charge_status s;
    const bool heard = from.heard();
    if (ALLOT_LIKELY(!heard && from.log() == nullptr && to.log() == nullptr)) return move_locked(from, to, bytes, mode);
    from.count_in(moves, 1); // what is told comes after its last bytes
    if (!heard) s = move_locked(from, to, bytes, mode);
    else {
        calls told(to);
        s = move_locked(from, to, bytes, mode);
        if (s.charged()) {
            const auto tell = [&](account_listener& l, const account&) {
                return l.transferred(from, to, bytes, s), true;
            };
            const account* top = &from;
            {
                const std::lock_guard tree(from.root_->lock_);
                while (!to.is_below(*top)) top = top->parent_;
            }
            told.each(from, tell, top);
            told.each(to, tell);
        }
    }
    from.log_event("transfer to another", bytes);
    to.log_event("transfer from another", bytes);
    from.count_in(moves, -1);
    return s;
}

} // namespace allot::inline ALLOT_ABI
