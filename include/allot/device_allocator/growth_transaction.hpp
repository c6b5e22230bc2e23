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
    static constexpr bool calls = requires(Ledger& l) { l.account(); };

  public:
    growth_transaction(sys::mutex& growing, Ledger& ledger, const Api& api) noexcept
        : growth_lock_(growing), ledger_(ledger), api_(api) {
        begin();
    }
    // Only if no other thread has it now; false otherwise.
    growth_transaction(sys::mutex& growing, Ledger& ledger, const Api& api, try_to_lock_t) noexcept
        : growth_lock_(growing), ledger_(ledger), api_(api) {
        if (growth_lock_.try_lock()) hold();
    }
    growth_transaction(const growth_transaction&) = delete;
    growth_transaction& operator=(const growth_transaction&) = delete;
    ~growth_transaction() {
        if (!held_now_) return;
        if constexpr (calls) end();
        settle();
        if constexpr (!calls) end();
    }
    explicit operator bool() const noexcept { return held_now_; }

    // What can be mapped.
    std::size_t charged() const noexcept { return held_ + unmapped_charge_; }
    // So much can be mapped from now on. False: less than before may be left. Others may have had a turn meanwhile.
    bool charge(std::size_t bytes) noexcept {
        if constexpr (calls) end();
        settle_held(); // first: a thread that has charged and not confirmed must not charge
        const std::size_t more = bytes - unmapped_charge_;
        const bool good = ledger_.try_charge(more);
        if (good) held_ = more;
        if constexpr (calls) begin();
        return good;
    }
    void mapped(std::size_t bytes) noexcept {
        const std::size_t again = bytes < unmapped_charge_ ? bytes : unmapped_charge_; // is in the peak already
        unmapped_charge_ -= again;
        held_ -= bytes - again;
        mapped_ += bytes - again;
    }
    void unmapped(std::size_t bytes) noexcept { unmapped_charge_ += bytes; }

  private:
    void begin() noexcept {
        growth_lock_.lock();
        hold();
    }
    void end() noexcept {
        mode_.reset();
        held_now_ = false;
        growth_lock_.unlock();
    }
    void hold() noexcept {
        held_now_ = true;
        mode_.emplace(api_);
    }
    void settle_held() noexcept {
        if (mapped_ != 0) ledger_.confirm(std::exchange(mapped_, 0));
        if (held_ != 0) ledger_.cancel(std::exchange(held_, 0));
    }
    void settle() noexcept {
        settle_held();
        if (unmapped_charge_ != 0) ledger_.refund(unmapped_charge_);
    }

    sys::mutex& growth_lock_;
    bool held_now_ = false;
    Ledger& ledger_;
    const Api& api_;
    std::optional<relaxed_capture<Api>> mode_; // in a capture, too
    std::size_t held_ = 0;                     // charged, neither confirmed nor cancelled
    std::size_t mapped_ = 0;                   // of what was held, to be confirmed
    std::size_t unmapped_charge_ = 0;          // of what is confirmed, not refunded yet
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
