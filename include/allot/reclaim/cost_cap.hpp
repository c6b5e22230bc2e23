// A cap on the cost of the reclaimers that requests of this thread may call: "not if rows of mine must go".
//
//     {
//         const allot::cost_cap cheap{1};      // cached answers may go, rows that must be written to a file may not
//         more = rows.try_allocate(n);
//     }
//
// Cost: 4 bytes per thread, read when a request is refused. Threads: the one that made it.
// Source: HPCC roxiemem's maxSpillCost of each request, 2013.
#pragma once

#include <allot/config.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

namespace detail {

inline constinit thread_local std::uint32_t most_cost_of_this_thread = UINT32_MAX;

} // namespace detail

/// Until it ends, requests of this thread call no reclaimer of a higher cost. Inside another one the lower cap applies.
/// Idle memory (cost 0) is always asked for.
class cost_cap {
  public:
    explicit cost_cap(std::uint32_t most) noexcept : before_(detail::most_cost_of_this_thread) {
        if (most < before_) detail::most_cost_of_this_thread = most;
    }
    cost_cap(const cost_cap&) = delete;
    cost_cap& operator=(const cost_cap&) = delete;
    ~cost_cap() { detail::most_cost_of_this_thread = before_; }

    /// The cap of this thread now; UINT32_MAX: none.
    static std::uint32_t now() noexcept { return detail::most_cost_of_this_thread; }

  private:
    const std::uint32_t before_;
};

} // namespace allot::inline ALLOT_ABI
