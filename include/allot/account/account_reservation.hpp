// A reservation of an account, made while it is in use: bytes of the parent that the account has for sure until the
// reservation ends.
//
//     if (const allot::account_reservation sure = sort.maybe_reserve(64_MiB)) merge();   // charges of 64 MiB fit
//     else spill();
//
// Invariant: while several are held, they add up; the last one that ends leaves the reservation of the constructor.
// Cost: 64 bytes; the tree's lock when it begins and ends. Threads: one at a time; the account's charges by any.
// Source: Velox's maybeReserve, 2022, whose release() returns the reservations of all callers.
#pragma once

#include <allot/account/account_status.hpp>
#include <allot/config.hpp>

#include <cstddef>
#include <utility>

namespace allot::inline ALLOT_ABI {

class account_reservation;

namespace detail {
struct account_node;
// account_charge.hpp
inline charge_status reserve_more(account_node& a, account_reservation& made) noexcept;
void end_reservation(account_node& a, const account_reservation& gone) noexcept;
} // namespace detail

/// What account::maybe_reserve returns; true if the bytes are reserved. It returns them when it is destroyed.
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
        if (detail::account_node* const by = std::exchange(by_, nullptr)) detail::end_reservation(*by, *this);
        bytes_ = 0;
    }

    explicit operator bool() const noexcept { return by_ != nullptr; }
    /// Bytes that are reserved; 0 if refused or released.
    std::size_t bytes() const noexcept { return bytes_; }
    /// Why the bytes were refused; else a status that fits.
    const charge_status& status() const noexcept { return status_; }

    void swap(account_reservation& other) noexcept {
        std::swap(by_, other.by_);
        std::swap(bytes_, other.bytes_);
        std::swap(used_before_, other.used_before_);
        std::swap(status_, other.status_);
    }

  private:
    friend class account;
    friend charge_status detail::reserve_more(detail::account_node& a, account_reservation& made) noexcept;
    friend void detail::end_reservation(detail::account_node& a, const account_reservation& gone) noexcept;
    account_reservation(detail::account_node& by, std::size_t bytes) noexcept : by_(&by), bytes_(bytes) {}

    detail::account_node* by_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t used_before_ = 0; // by the account, when the reservation began
    charge_status status_;
};

} // namespace allot::inline ALLOT_ABI
