// A reservation that waits without a thread: the callback that gets it, and its place in the queue.
//
//     allot::reservation_request later{[&](allot::account_reservation sure) { loop.post(merge, std::move(sure)); }};
//     allot::account_reservation now = sort.reserve_for(64_MiB, later);
//     if (now) merge(std::move(now));                                                 // at once: `later` is not called
//     else if (now.status().outcome != allot::charge_outcome::queued) spill();         // refused for good
//
// Cost: 472 bytes and the callback, wherever you put it; nothing is allocated. Threads: one at a time queues it; any
// cancel it. The callback is called on the thread that frees the memory, raises the limit or closes the account.
// Source: coroutine awaiters, whose operation is a node in the caller's frame: Lewis Baker's cppcoro, 2017.
#pragma once

#include <allot/account/account_reservation.hpp>
#include <allot/account/queued_reservation.hpp>
#include <allot/config.hpp>

#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// For account::reserve_for() and reserve_floor_for(): then(account_reservation) is called once for each request that
/// was queued and not cancelled, with no lock held: with the reservation; or, if the account was closed or a limit set
/// below the request, with a false one, whose status says so.
/// In the call you may do what you may in a listener; queue this request again; cancel and destroy it and others; close
/// accounts, and destroy those of other requests. A request for memory does not wait there. It must not throw.
/// Requires: the account outlives it, unless it is neither queued nor called.
template <class Then> class reservation_request {
    static_assert(std::is_invocable_v<Then&, account_reservation>,
                  "allot: the callback of a reservation_request takes an account_reservation");

  public:
    explicit reservation_request(Then then) noexcept(std::is_nothrow_move_constructible_v<Then>)
        : then_(std::move(then)) {}
    reservation_request(const reservation_request&) = delete;
    reservation_request& operator=(const reservation_request&) = delete;
    /// Calls cancel(), and waits for a call on another thread: do not destroy two requests inside calls of each other.
    ~reservation_request() = default;

    /// Any thread. True: it was queued, and is never called. False: it was not, or it is called now, or was.
    bool cancel() noexcept { return queued_.cancel(); }
    bool is_queued() const noexcept { return queued_.is_queued(); }

  private:
    friend class account;
    static void call(void* context, account_reservation&& made) {
        static_cast<reservation_request*>(context)->then_(std::move(made));
    }

    Then then_;
    detail::queued_reservation queued_{&call, this}; // ends first
};

} // namespace allot::inline ALLOT_ABI
