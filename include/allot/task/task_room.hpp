// The bytes that tasks may still take: below a share of an account's limit, and of what the system has.
//
// Bytes that reclaimers of the account can free count as free, and what objects below it do not use: they leave when a
// task is promised its memory.
// Cost: a visit of the account's reclaimers; with a system_memory its files are read. Threads: any.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/sys/system_memory.hpp>
#include <allot/task/executor_options.hpp>

#include <cstddef>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

class task_room {
  public:
    task_room(const account& of, const executor_options& o) noexcept
        : of_(of), percent_(detail::min(o.percent, 100U)), system_(o.system), reserve_(o.system_reserve),
          most_pressure_(o.most_pressure) {}

    /// Has objects below the account look for what they do not use, so that it counts as free.
    void find_unused() const noexcept { static_cast<void>(detail::return_idle_below(of_.node(), false, 0)); }
    bool looks_at_system() const noexcept { return system_ != nullptr; }
    /// Of the account's share. A task that needs more than all of it starts only where nothing runs.
    std::size_t in_account() const noexcept {
        const std::size_t limit = of_.limit();
        if (limit == SIZE_MAX) return limit;
        const std::size_t most = limit / 100 * percent_ + limit % 100 * percent_ / 100;
        const std::size_t can_leave = of_.reclaimable(reclaimer::idle), used = of_.used(),
                          stays =
                              used - detail::min(used, can_leave - detail::min(can_leave, detail::owed(of_.node())));
        return most - detail::min(most, stays);
    }
    /// Of the system. `promised`: bytes that running tasks may take yet.
    std::size_t in_system(std::size_t promised) const noexcept {
        if (system_ == nullptr) return SIZE_MAX;
        std::size_t has = 0; // as where the host has no memory to read it
#if ALLOT_EXCEPTIONS
        try {
            has = has_pressure() ? 0 : system_->available();
        } catch (const std::bad_alloc&) {
        }
#else
        has = has_pressure() ? 0 : system_->available();
#endif
        return has == SIZE_MAX ? has : has - detail::min(has, detail::sum_or_max(reserve_, promised));
    }

  private:
    bool has_pressure() const { return most_pressure_ < 10'000 && system_->pressure() > most_pressure_; }

    const account& of_;
    const unsigned percent_;
    const system_memory* const system_;
    const std::size_t reserve_;
    const unsigned most_pressure_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
