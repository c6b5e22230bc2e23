// How a pin requests the memory that an object comes back to.
//
// Cost: 48 bytes. Threads: one. Use: storing<T>::make(), stored.hpp.
#pragma once

#include <allot/account/forward.hpp>
#include <allot/config.hpp>
#include <allot/core/units.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/parking.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

class pin_request {
  public:
    /// Takes memory that is free, and asks nobody for theirs.
    explicit pin_request(account& of) noexcept : to(of), most_(time_span{0}), takes_free_only_(true) {}
    /// As any request; where `most` is not null, it waits that long in all.
    pin_request(account& of, const wait_limit* most) noexcept
        : to(of), most_(most != nullptr ? *most : wait_limit{time_span{0}}), waits_(most != nullptr),
          end_(most_.deadline()) {}

    /// Calls now() where it waits for nothing, else wait(limit). For the try_ function of a product, and its _for one.
    template <class Now, class Wait> auto make(Now now, Wait wait) const -> decltype(now()) {
        const cost_cap most{takes_free_only_ ? reclaimer::idle : UINT32_MAX};
        return waits_ ? wait(left()) : now();
    }
    /// Whether code of the object's type may wait for memory of its own.
    bool may_wait() const noexcept { return !takes_free_only_; }
    /// The same request, which `sooner` ends too. Requires: `sooner` was made of ended_by().
    pin_request ended_also_by(cancellation& sooner) const noexcept {
        pin_request r{*this};
        r.most_.end = &sooner;
        return r;
    }
    cancellation* ended_by() const noexcept { return most_.end; }
    bool is_cancelled() const noexcept { return most_.end != nullptr && most_.end->is_cancelled(); }

    account& to; // that is charged

  private:
    wait_limit left() const noexcept {
        wait_limit now = most_;
        if (end_ == detail::sys::parking::never) return now;
        const std::uint64_t at = sys::fine_clock::now();
        now.most = time_span{at < end_ ? (end_ - at + 999'999) / 1'000'000 : 0};
        return now;
    }

    wait_limit most_;
    bool waits_ = false, takes_free_only_ = false;
    std::uint64_t end_ = 0; // on fine_clock
};

} // namespace allot::inline ALLOT_ABI
