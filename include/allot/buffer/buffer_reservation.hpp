// A reservation: bytes that are charged now for one buffer that is allocated later, so that a refusal comes early.
//
//     allot::buffer_reservation r{memory, sort};
//     if (!r.add(keys) || !r.add(rows)) spill();
//     allot::buffer b = r.allocate();
//
// Invariant: charged() bytes are charged to the account until allocate() has moved them to a buffer or close() has
// refunded them, never both. If the source has no memory, allocate() returns the empty buffer and changes nothing.
// Cost: 48 bytes; one charge per addition. Threads: one at a time.
// Source: Drill's AllocationReservation, 2015, whose close() refunded again what a failed allocation had refunded.
#pragma once

#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// Adds up sizes, each charged at once, for one buffer.
/// Requires: the memory source and the account outlive the reservation.
class buffer_reservation {
  public:
    buffer_reservation(buffer_memory memory, account& by) noexcept : memory_(memory), by_(&by) {
        by.count(counted::buffer_reservations, 1);
    }
    buffer_reservation(const buffer_reservation&) = delete;
    buffer_reservation& operator=(const buffer_reservation&) = delete;
    /// Calls close().
    ~buffer_reservation() { close(); }

    /// Adds bytes to the sum, and charges as many more as a block for the new sum will take.
    /// Returns: false if refused; nothing has changed then. Misused, and reported, after allocate() or close().
    [[nodiscard]] charge_status add(std::size_t bytes) noexcept {
        if (!open()) return {.outcome = charge_outcome::misused, .requested = bytes};
        std::size_t sum = 0;
        const bool overflows = !checked_add(bytes_, bytes, sum) || sum > static_cast<std::size_t>(PTRDIFF_MAX);
        if (overflows) return by_->status(charge_outcome::over_limit, bytes, by_->used(), by_->limit());
        const std::size_t whole = sum != 0 ? memory_.capacity_for(sum) : 0,
                          more = whole > charged_ ? whole - charged_ : 0;
        const charge_status s = by_->try_charge(more);
        if (!s) return s;
        bytes_ = sum;
        charged_ += more;
        note("add", more);
        return s;
    }
    /// Allocates one buffer of the sum, once. The charge becomes the buffer's.
    /// Returns: the empty buffer if the sum is 0; else if the source has no memory, or its block is larger than it said
    /// and the account refuses the rest (`why`). Then the reservation is unchanged.
    [[nodiscard]] buffer allocate(charge_status* why = nullptr) noexcept {
        charge_status unused;
        charge_status& s = why != nullptr ? *why : unused;
        s = {};
        if (!open()) return {};
        if (bytes_ == 0) return end(), buffer{};
        buffer b = memory_.allocate_charged(*by_, bytes_, charged_, s);
        if (!b) return {};
        const std::size_t whole = b.block_bytes(), less = charged_ > whole ? charged_ - whole : 0;
        note("allocate", whole);
        account& by = *by_;
        end();
        if (less != 0) by.refund(less);
        return b;
    }
    /// Refunds what was not used. Idempotent.
    void close() noexcept {
        if (by_ == nullptr) return;
        account& by = *by_;
        const std::size_t back = charged_;
        note("close", back);
        end();
        if (back != 0) by.refund(back);
    }

    std::size_t bytes() const noexcept { return bytes_; }     // requested
    std::size_t charged() const noexcept { return charged_; } // 0 after allocate() or close()
    bool is_open() const noexcept { return by_ != nullptr; }
    /// Records the events of the reservation from now on; null ends it. Requires: the log outlives the reservation.
    void set_log(account_log* log) noexcept { log_ = log; }

  private:
    bool open() const noexcept {
        if (ALLOT_UNLIKELY(by_ == nullptr)) report_misuse({.kind = misuse::reservation_closed});
        return by_ != nullptr;
    }
    // The caller owns the charge then, and refunds it or moves it to a buffer. The refund may end the account.
    void end() noexcept {
        by_->count(counted::buffer_reservations, -1);
        by_ = nullptr;
        bytes_ = charged_ = 0;
    }
    void note(const char* what, std::size_t bytes) noexcept {
        if (log_ != nullptr) log_->record(what, bytes, by_->used());
    }

    buffer_memory memory_;
    account* by_;
    std::size_t bytes_ = 0;
    std::size_t charged_ = 0;
    account_log* log_ = nullptr;
};

} // namespace allot::inline ALLOT_ABI
