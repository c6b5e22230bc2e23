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
#include <allot/sys/thread_context.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// Until it ends, requests of this thread call no reclaimer of a higher cost. Inside another one the lower cap applies.
/// Idle memory (cost 0) is always asked for.
class cost_cap {
  public:
    explicit cost_cap(std::uint32_t most) noexcept : before_(detail::of_this_thread.most_cost) {
        if (most < before_) detail::of_this_thread.most_cost = most;
    }
    cost_cap(const cost_cap&) = delete;
    cost_cap& operator=(const cost_cap&) = delete;
    ~cost_cap() { detail::of_this_thread.most_cost = before_; }

    /// The cap of this thread now; UINT32_MAX: none.
    static std::uint32_t now() noexcept { return detail::of_this_thread.most_cost; }

  private:
    const std::uint32_t before_;
};

} // namespace allot::inline ALLOT_ABI
