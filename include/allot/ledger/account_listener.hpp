// A listener is called for requests of the account that it was added to, and of every account below.
//
// No lock is held in a call, so a listener may charge, refund, transfer, and add or remove listeners and accounts. Its
// own requests, in this tree and on this thread, call no listener: so no call is inside another.
// Invariant: a removed listener gets no call that begins after remove() has returned.
// Cost: 0 without one; with one, the account and those below take no credit, and each request takes the tree's lock.
// Threads: calls come on the thread that charges, several at a time where several charge.
// Source: Arrow Java's AllocationListener, 2016, which is asked for one retry, and not told of transfers.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/ledger/account_status.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

namespace detail {
class tree_node;
class listener_dispatch;
} // namespace detail

class account_listener {
  public:
    account_listener() = default;
    account_listener(const account_listener&) = delete;
    account_listener& operator=(const account_listener&) = delete;

    /// Before a charge that is not forced. False: the charge is refused, as vetoed.
    virtual bool before(const account&, std::size_t) noexcept { return true; }
    /// The bytes are charged; the status says how.
    virtual void after(const account&, std::size_t, const charge_status&) noexcept {}
    /// The bytes were refunded.
    virtual void released(const account&, std::size_t) noexcept {}
    /// The charge was refused. Returns how often to try again; the maximum of all listeners counts.
    virtual unsigned failed(const account&, const charge_status&) noexcept { return 0; }
    /// The bytes were charged to `from`, and are charged to `to` now.
    virtual void transferred(const account& from, const account& to, std::size_t, const charge_status&) noexcept {
        static_cast<void>(from), static_cast<void>(to);
    }
    virtual void child_added(const account& child) noexcept { static_cast<void>(child); }
    virtual void child_removed(const account& child) noexcept { static_cast<void>(child); }

  protected:
    ~account_listener() = default;

  private:
    friend class detail::listener_dispatch;
    list_place<account_listener> place_;
    unsigned running_calls_ = 0;              // calls under way, by the tree's lock
    bool removed_ = false;                    // removed meanwhile
    const detail::tree_node* home_ = nullptr; // the account that it was added to

  public:
    using list = intrusive_list<account_listener, &account_listener::place_>;
};

} // namespace allot::inline ALLOT_ABI
