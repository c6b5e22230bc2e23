// A transaction that grows or shrinks a device allocator's memory: holds growth_lock_ and keeps the charges of the
// ledger.
//
// Accounts of ledger::tree call listeners, which may use the allocator. So with them a charge and the final settlement
// are made without the lock, and other transactions may run meanwhile; other ledgers are called with it.
// Invariant: mapped memory is charged. At the end, charges without mapped memory are cancelled, and charges of returned
// memory are refunded. A charge whose memory the device refused is in no peak.
// Cost: a mutex, and two api calls; 104 bytes of stack. Threads: one per transaction.
#pragma once

#include <allot/account/pending_charge.hpp>
#include <allot/config.hpp>
#include <allot/device_allocator/relaxed_capture.hpp>
#include <allot/request/memory_request.hpp>
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
    // `waits` = false: without effect, and false, while another transaction holds the lock.
    growth_transaction(sys::mutex& growth_lock, Ledger& ledger, const Api& api, bool waits = true) noexcept
        : growth_lock_(growth_lock), ledger_(ledger), api_(api), pending_(ledger) {
        if (waits) lock();
        else if (growth_lock_.try_lock()) on_locked();
    }
    growth_transaction(const growth_transaction&) = delete;
    growth_transaction& operator=(const growth_transaction&) = delete;
    ~growth_transaction() {
        if (!locked_) return;
        if constexpr (calls_listeners) unlock();
        settle();
        if constexpr (calls_listeners) ledger_.free_ahead();
        else unlock();
    }
    explicit operator bool() const noexcept { return locked_; }

    // Bytes that may be mapped now.
    std::size_t charged() const noexcept { return pending_.held() + unmapped_charge_; }
    // Charges, so that `bytes` in all may be mapped. False: refused; charged() may be less than before. With listeners,
    // other transactions may have run meanwhile. `in_advance`: a promise does not pay.
    bool charge(std::size_t bytes, memory_request& asked, bool in_advance) noexcept {
        if constexpr (calls_listeners) unlock();
        pending_.settle(); // first: a thread must not charge while it has an unconfirmed charge
        promised_pages* const promised = std::exchange(asked.promised, in_advance ? nullptr : asked.promised);
        const bool succeeded = pending_.hold(bytes - unmapped_charge_, asked);
        asked.promised = promised;
        if constexpr (calls_listeners) lock();
        return succeeded;
    }
    void mapped(std::size_t bytes) noexcept {
        const std::size_t again = bytes < unmapped_charge_ ? bytes : unmapped_charge_; // already in the peak
        unmapped_charge_ -= again;
        pending_.use(bytes - again);
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
    void settle() noexcept {
        pending_.settle();
        if (unmapped_charge_ != 0) ledger_.refund(unmapped_charge_);
    }

    sys::mutex& growth_lock_;
    bool locked_ = false;
    Ledger& ledger_;
    const Api& api_;
    std::optional<relaxed_capture<Api>> mode_; // so that the calls are permitted during captures
    pending_charge<Ledger> pending_;           // bytes charged and not mapped, and bytes mapped and not confirmed
    std::size_t unmapped_charge_ = 0;          // bytes returned to the device: to be refunded, or mapped again
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
