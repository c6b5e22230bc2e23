// A listener: observes the requests of the account that it was added to, and of all accounts below. Memory is freed by
// reclaimers (reclaim/reclaimer.hpp).
//
// A listener is called after the event, with no lock held, and cannot prevent it. It may do anything, of this tree
// too: a request in a call is served from what is free, or refused, and does not wait; no listener is called for
// what a call does.
// Invariant: a removed listener gets no call that begins after remove() has returned.
// Cost: 0 without a listener. With one, the account and those below keep no credit, and each request takes the lock.
// Threads: calls come on the thread that charges, several at a time if several charge.
// Source: Arrow Java's AllocationListener, 2016, which may ask for one retry, and gets no call for transfers.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/called_list.hpp>
#include <allot/tree/account_status.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

namespace detail {
class tree_node;
class observers;
} // namespace detail

/// Derive from it and override the calls that you need.
/// Requires: removed before the listener or its account ends.
class account_listener {
  public:
    account_listener() = default;
    account_listener(const account_listener&) = delete;
    account_listener& operator=(const account_listener&) = delete;

    /// After the bytes were charged.
    virtual void after(const account&, std::size_t, const charge_status&) noexcept {}
    /// After bytes were refunded, or held bytes cancelled.
    virtual void released(const account&, std::size_t) noexcept {}
    /// After an account refused the charge, and reclaimers freed too little. Called once per refused charge; a request
    /// for rows or blocks may charge several times.
    virtual void refused(const account&, const charge_status&) noexcept {}
    /// After the charge moved from one account to the other.
    virtual void transferred(const account& from, const account& to, std::size_t, const charge_status&) noexcept {
        static_cast<void>(from), static_cast<void>(to);
    }
    virtual void child_added(const account& child) noexcept { static_cast<void>(child); }
    virtual void child_removed(const account& child) noexcept { static_cast<void>(child); }

  protected:
    ~account_listener() = default;

  private:
    friend class detail::observers;
    detail::called_hook<account_listener> place_;
    const detail::tree_node* home_ = nullptr; // the account that it was added to
};

} // namespace allot::inline ALLOT_ABI
