// A reservation of an account: bytes of the parent that the account has for sure until the reservation ends.
//
//     // 64 MiB further bytes fit, again and again
//     if (const allot::account_reservation sure = sort.reserve_for(64_MiB, 1_s)) merge();
//     else spill();
//     // 64 MiB in all, used or not
//     const allot::account_reservation least = query.reserve_floor_for(64_MiB, 1_s);
//
//   bytes to come   beyond what is used: a charge takes them, a refund fills them again; what was used before and is
//                   refunded returns to the parent
//   a floor         what the account counts at its parent at least
//
// Invariant: while several are held, they add up. Cost: 80 bytes; the tree's lock when it begins and ends, and at each
// refund while bytes to come are reserved; the account and those below keep no credit then. Threads: one at a time; the
// account's charges by any.
// Source: Velox's maybeReserve, 2022, whose release() returns the reservations of all callers, and which keeps bytes
// that were used before.
#pragma once

#include <allot/account/account_status.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {

class account_reservation;

namespace detail {
struct account_node;
// account_reserving.hpp
struct reserving;
void end_reservation(account_node& a, std::size_t bytes, std::size_t keeps, std::size_t used_before,
                     reserves kind) noexcept;
} // namespace detail

/// What account::reserve_for() and reserve_floor_for() return; true if the bytes are reserved. It returns them when it
/// is destroyed.
/// Requires: the account outlives it. It delays the end of a closing account, as an open buffer does.
class [[nodiscard]] account_reservation {
  public:
    /// Holds nothing.
    account_reservation() noexcept = default;
    account_reservation(account_reservation&& other) noexcept { swap(other); }
    account_reservation& operator=(account_reservation&& other) noexcept {
        account_reservation{std::move(other)}.swap(*this);
        return *this;
    }
    /// Calls release().
    ~account_reservation() { release(); }

    /// Returns the bytes to the parent now, but for those in use. Idempotent.
    void release() noexcept {
        const std::size_t bytes = std::exchange(bytes_, 0);
        if (detail::account_node* const by = std::exchange(by_, nullptr))
            detail::end_reservation(*by, bytes, 0, used_before_,
                                    kind_); // may call back, and the callback refill the object
    }
    /// Keeps that many bytes, and returns the others as release() does. It never grows.
    void shrink_to(std::size_t bytes) noexcept {
        if (bytes == 0) return release();
        if (by_ != nullptr && bytes < bytes_)
            detail::end_reservation(*by_, std::exchange(bytes_, bytes), bytes, used_before_, kind_);
    }
    /// Moves bytes of this floor to that of another account with the same parent, which sees no change, but for what
    /// the two use: bytes in use stay charged, so they count twice, if that fits.
    /// Returns: a status that fits; else nothing has changed: a limit refuses, one is closed, or this is misused: it has
    /// fewer bytes, one of them is no floor, or the parents differ.
    charge_status move_to(account_reservation& to, std::size_t bytes) noexcept;

    explicit operator bool() const noexcept { return by_ != nullptr; }
    /// Bytes that are reserved; 0 if refused or released.
    std::size_t bytes() const noexcept { return bytes_; }
    /// Why the bytes were refused; else a status that fits.
    const charge_status& status() const noexcept { return status_; }

    void swap(account_reservation& other) noexcept {
        std::swap(by_, other.by_);
        std::swap(bytes_, other.bytes_);
        std::swap(used_before_, other.used_before_);
        std::swap(kind_, other.kind_);
        std::swap(status_, other.status_);
    }

  private:
    friend detail::reserving;
    detail::account_node* by_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t used_before_ = 0; // by the account, when the reservation began
    charge_status status_;
    detail::reserves kind_ = detail::reserves::to_come;
};

} // namespace allot::inline ALLOT_ABI
