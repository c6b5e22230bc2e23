// Tells a store's account that the home has room again for what its own account refused: in another tree, perhaps.
//
// Invariant: what was asked for last is waited for, once no thread is in tell_at(). Cost: 512 bytes; a waiter without a
// thread in the tree of the home's account while it waits. Threads: any.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/account/reservation_request.hpp>
#include <allot/config.hpp>

#include <atomic>
#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

class home_room {
  public:
    home_room(account& of_store, account& of_home) noexcept : of_(of_store), home_(of_home) {}
    // Requests that wait ask the store again once that many bytes are free; now, if they are. One thread at a time
    // queues the request, for others that come meanwhile.
    void tell_at(std::size_t bytes) noexcept {
        wanted_.store(bytes);
        while (wanted_.load() != 0 && !is_asking_.exchange(true)) {
            static_cast<void>(later_.cancel());
            if (const std::size_t now = wanted_.exchange(0); now != 0 && home_.when_free(now, later_))
                of_.notify_unused();
            is_asking_.store(false);
        }
    }

  private:
    struct tell {
        account& of;
        void operator()(account_reservation) const noexcept { of.notify_unused(); }
    };
    account &of_, &home_;
    std::atomic<std::size_t> wanted_{0}; // 0: nothing new
    std::atomic<bool> is_asking_{false};
    reservation_request<tell> later_{tell{of_}};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
