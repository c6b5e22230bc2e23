// A turn to grow a device allocator's memory or to give some back, with what the ledger was asked for it: one turn at a
// time.
//
// The accounts of ledger::tree call listeners, who may use the allocator. So there a charge is asked for without the
// lock, after which others may have had a turn, and the rest is settled behind it; where nobody is called it stays
// within the turn.
// Invariant: what is mapped is charged; what a turn has charged and not mapped, or given back, is the ledger's again
// after it; what the device refused is in no peak. Cost: a mutex, two calls to the api; 24 bytes of stack more.
// Threads: one a turn.
#pragma once

#include <allot/config.hpp>
#include <allot/device_allocator/relaxed_capture.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Ledger, class Api> class growth_transaction {
    static constexpr bool calls_listeners = requires(Ledger& l) { l.account(); };

  public:
    growth_transaction(sys::mutex& growth_lock, Ledger& ledger, const Api& api) noexcept
        : growth_lock_(growth_lock), ledger_(ledger), api_(api) {
        lock();
    }
    // Only if no other thread has it now; false otherwise.
    growth_transaction(sys::mutex& growth_lock, Ledger& ledger, const Api& api, try_to_lock_t) noexcept
        : growth_lock_(growth_lock), ledger_(ledger), api_(api) {
        if (growth_lock_.try_lock()) on_locked();
    }
    growth_transaction(const growth_transaction&) = delete;
    growth_transaction& operator=(const growth_transaction&) = delete;
    ~growth_transaction() {
        if (!locked_) return;
        if constexpr (calls_listeners) unlock();
        settle();
        if constexpr (!calls_listeners) unlock();
    }
    explicit operator bool() const noexcept { return locked_; }

    // What can be mapped.
    std::size_t charged() const noexcept { return pending_ + unmapped_charge_; }
    // So much can be mapped from now on. False: less than before may be left. Others may have had a turn meanwhile.
    bool charge(std::size_t bytes) noexcept {
        if constexpr (calls_listeners) unlock();
        settle_pending(); // first: a thread that has charged and not confirmed must not charge
        const std::size_t more = bytes - unmapped_charge_;
        const bool succeeded = ledger_.try_charge(more);
        if (succeeded) pending_ = more;
        if constexpr (calls_listeners) lock();
        return succeeded;
    }
    void mapped(std::size_t bytes) noexcept {
        const std::size_t again = bytes < unmapped_charge_ ? bytes : unmapped_charge_; // is in the peak already
        unmapped_charge_ -= again;
        pending_ -= bytes - again;
        unconfirmed_ += bytes - again;
    }
    void unmapped(std::size_t bytes) noexcept { unmapped_charge_ += bytes; }

  private:
    void lock() noexcept {
        growth_lock_.lock();
        on_locked();
    }
    void unlock() noexcept {
        mode_.reset();
        locked_ = false;
        growth_lock_.unlock();
    }
    void on_locked() noexcept {
        locked_ = true;
        mode_.emplace(api_);
    }
    void settle_pending() noexcept {
        if (unconfirmed_ != 0) ledger_.confirm(std::exchange(unconfirmed_, 0));
        if (pending_ != 0) ledger_.cancel(std::exchange(pending_, 0));
    }
    void settle() noexcept {
        settle_pending();
        if (unmapped_charge_ != 0) ledger_.refund(unmapped_charge_);
    }

    sys::mutex& growth_lock_;
    bool locked_ = false;
    Ledger& ledger_;
    const Api& api_;
    std::optional<relaxed_capture<Api>> mode_; // in a capture, too
    std::size_t pending_ = 0;                  // charged, neither confirmed nor cancelled
    std::size_t unconfirmed_ = 0;              // of what was held, to be confirmed
    std::size_t unmapped_charge_ = 0;          // of what is confirmed, not refunded yet
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
