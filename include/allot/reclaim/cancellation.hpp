// Ends waits for memory from another thread.
//
// Cost: 16 bytes; a waiter that has one takes its lock at its begin and end. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/parking.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// Waits that are ended together. Requires: it outlives them.
class cancellation {
  public:
    cancellation() = default;
    cancellation(const cancellation&) = delete;
    cancellation& operator=(const cancellation&) = delete;

    /// Ends all waits that have it, now and later: they fail with charge_outcome::cancelled. Idempotent.
    void cancel() noexcept {
        const detail::lock_guard hold(lock_);
        cancelled_.store(true, std::memory_order_release);
        for (sleeper* s = sleepers_.first(); s != nullptr; s = sleepers_.after(*s)) s->spot.signal(cancelled);
    }
    bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }

    /// For waits: a place to be signalled from construction to the end.
    class sleeper {
      public:
        sleeper(cancellation* of, sys::parking& where) noexcept : spot(where), of_(of) {
            if (of_ == nullptr) return;
            const detail::lock_guard hold(of_->lock_);
            of_->sleepers_.add(*this);
        }
        sleeper(const sleeper&) = delete;
        sleeper& operator=(const sleeper&) = delete;
        ~sleeper() {
            if (of_ == nullptr) return;
            const detail::lock_guard hold(of_->lock_);
            of_->sleepers_.remove(*this);
        }
        bool is_cancelled() const noexcept { return of_ != nullptr && of_->is_cancelled(); }
        sys::parking& spot;

      private:
        cancellation* const of_;
        list_hook<sleeper> place_;

      public:
        using list = intrusive_list<sleeper, &sleeper::place_>;
    };

  private:
    static constexpr std::uint32_t cancelled = 2; // a signal, beside the waiter's

    spin_lock lock_;
    std::atomic<bool> cancelled_{false};
    sleeper::list sleepers_;
};

} // namespace allot::inline ALLOT_ABI
