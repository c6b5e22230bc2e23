// Planned failures and virtual costs of calls: "the third create fails: out of memory", "an allocate costs 80 us".
// Cost: one test per call; O(planned failures) while there are any. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/device/error.hpp>
#include <allot/device/simulator/call.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device {

/// The `nth` call from now (1: the next) and `times` - 1 calls after it fail with `kind`. sticky: every later call
/// fails with device_lost, too.
struct planned_failure {
    std::uint64_t nth = 1;
    failure kind = failure::out_of_memory;
    std::uint64_t times = 1;
    bool sticky = false;
};

namespace detail::sim {

class faults {
  public:
    void plan(const planned_failure& f, bool any, call c = call::allocate) { planned_.push_back({f, c, any}); }
    void clear() noexcept { planned_.clear(); }
    bool armed() const noexcept { return !planned_.empty(); }

    // The failure of this call, or failure::none; sets `sticky` to that of the plan.
    failure next_failure(call c, bool& sticky) noexcept {
        failure found = failure::none;
        for (std::size_t i = 0; i != planned_.size();) {
            entry& e = planned_[i];
            if (e.any || e.of == c) {
                if (e.plan.nth > 1) --e.plan.nth;
                else if (found == failure::none) {
                    found = e.plan.kind;
                    sticky = e.plan.sticky;
                    if (--e.plan.times == 0) {
                        planned_.erase(planned_.begin() + static_cast<std::ptrdiff_t>(i));
                        continue;
                    }
                }
            }
            ++i;
        }
        return found;
    }

  private:
    struct entry {
        planned_failure plan;
        call of;
        bool any;
    };
    std::vector<entry> planned_;
};

// Virtual time: the cost of each call in nanoseconds, 0 unless set, and the sum so far.
class costs {
  public:
    void set(call c, std::uint64_t ns) noexcept { of_[static_cast<std::size_t>(c)] = ns; }
    void spend(call c) noexcept { now_ += of_[static_cast<std::size_t>(c)]; }
    std::uint64_t now() const noexcept { return now_; }

  private:
    std::array<std::uint64_t, calls> of_{};
    std::uint64_t now_ = 0;
};

} // namespace detail::sim
} // namespace device
} // namespace allot::inline ALLOT_ABI
