// An account that charges first and checks then, as Drill and Arrow do: for comparison with allot::account.
//
// It is never over its limit while no call runs. But a request that fails is visible until it is undone: other requests
// fail because of it, and a peak keeps bytes that were never charged.
// Invariant: used of a parent = the claims of its children, while no call runs. Cost: 2 to 3 atomic operations a level.
// Threads: any. Source: Drill's Accountant, 2014, whose climb also goes on where it has failed, so that the undo mirrors
// it.
#pragma once

#include <atomic>
#include <cstddef>

class add_then_check_account {
  public:
    explicit add_then_check_account(std::size_t limit, add_then_check_account* parent = nullptr,
                                    std::size_t reserved = 0) noexcept
        : parent_(parent), limit_(limit), reserved_(reserved) {}

    bool try_charge(std::size_t bytes) noexcept {
        const bool good = add(bytes, false);
        if (!good) refund(bytes);
        return good;
    }
    bool force_charge(std::size_t bytes) noexcept { return add(bytes, true); }
    void refund(std::size_t bytes) noexcept {
        const std::size_t was = used_.fetch_sub(bytes, std::memory_order_relaxed);
        if (parent_ != nullptr && was > reserved_) parent_->refund(was - reserved_ < bytes ? was - reserved_ : bytes);
    }
    std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
    std::size_t limit() const noexcept { return limit_; }

  private:
    bool add(std::size_t bytes, bool forced) noexcept {
        const std::size_t now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
        const bool fits = now <= limit_;
        bool above = true;
        if (parent_ != nullptr && now > reserved_)
            above = parent_->add(now - reserved_ < bytes ? now - reserved_ : bytes, forced);
        if (fits || forced) {
            std::size_t peak = peak_.load(std::memory_order_relaxed);
            while (peak < now && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
            }
        }
        return fits && above;
    }
    std::atomic<std::size_t> used_{0};
    std::atomic<std::size_t> peak_{0};
    add_then_check_account* const parent_;
    const std::size_t limit_;
    const std::size_t reserved_;
};
