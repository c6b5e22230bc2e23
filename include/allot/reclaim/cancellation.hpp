// Ends waits for memory from another thread.
//
// Cost: 24 bytes; a waiter that has one takes its lock at its begin and end. Threads: any.
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
    /// Its waits are ended with those of `other`, too, unless that is null. Requires: `other` outlives it, and was made
    /// without another one.
    explicit cancellation(cancellation* other) noexcept : other_(other) {}
    cancellation(const cancellation&) = delete;
    cancellation& operator=(const cancellation&) = delete;

    /// Ends all waits that have it, now and later: they fail with charge_outcome::cancelled. Idempotent.
    void cancel() noexcept {
        const detail::lock_guard hold(lock_);
        cancelled_.store(true, std::memory_order_release);
        for (place* p = places_.first(); p != nullptr; p = places_.after(*p)) p->spot.signal(cancelled);
    }
    bool is_cancelled() const noexcept {
        return cancelled_.load(std::memory_order_acquire) || (other_ != nullptr && other_->is_cancelled());
    }

  private:
    struct place {
        place(cancellation* in, detail::sys::parking& where) noexcept : of(in), spot(where) {
            if (of == nullptr) return;
            const detail::lock_guard hold(of->lock_);
            of->places_.add(*this);
        }
        place(const place&) = delete;
        place& operator=(const place&) = delete;
        ~place() {
            if (of == nullptr) return;
            const detail::lock_guard hold(of->lock_);
            of->places_.remove(*this);
        }
        cancellation* const of;
        detail::sys::parking& spot;
        detail::list_hook<place> hook{};
    };

  public:
    /// For waits: a place to be signalled from construction to the end.
    class sleeper {
      public:
        sleeper(cancellation* of, detail::sys::parking& spot) noexcept
            : at_(of, spot), at_other_(of != nullptr ? of->other_ : nullptr, spot) {}
        bool is_cancelled() const noexcept { return at_.of != nullptr && at_.of->is_cancelled(); }

      private:
        place at_, at_other_;
    };

  private:
    static constexpr std::uint32_t cancelled = 2; // a signal, beside the waiter's

    detail::spin_lock lock_;
    std::atomic<bool> cancelled_{false};
    detail::intrusive_list<place, &place::hook> places_;
    cancellation* const other_ = nullptr;
};

} // namespace allot::inline ALLOT_ABI
