// The bytes that tasks may still take: below a share of an account's limit, and of what the system has.
//
// Bytes that reclaimers of the account can free count as free: they leave when a task is promised its memory.
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

class task_room {
  public:
    task_room(const account& of, const executor_options& o) noexcept
        : of_(of), percent_(detail::min(o.percent, 100U)), system_(o.system), reserve_(o.system_reserve),
          most_pressure_(o.most_pressure) {}

    /// `promised`: bytes that running tasks may take yet.
    std::size_t free(std::size_t promised) const noexcept { return detail::min(in_account(), in_system(promised)); }
    /// Bytes. A task that needs more starts only where nothing runs.
    std::size_t share() const noexcept {
        const std::size_t limit = of_.limit();
        return limit == SIZE_MAX ? limit : limit / 100 * percent_ + limit % 100 * percent_ / 100;
    }
    bool looks_at_system() const noexcept { return system_ != nullptr; }

  private:
    std::size_t in_account() const noexcept {
        const std::size_t most = share();
        if (most == SIZE_MAX) return most;
        std::size_t can_leave = 0;
        of_.visit_reclaimers([&](const reclaimer& r) {
            const std::size_t its = r.cost() != reclaimer::idle ? r.reclaimable(of_) : SIZE_MAX;
            if (its != SIZE_MAX) can_leave += its;
        });
        const std::size_t used = of_.used(), stays = used - detail::min(used, can_leave);
        return most - detail::min(most, stays);
    }
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

    bool has_pressure() const { return most_pressure_ < 10'000 && system_->pressure() > most_pressure_; }

    const account& of_;
    const unsigned percent_;
    const system_memory* const system_;
    const std::size_t reserve_;
    const unsigned most_pressure_;
};

} // namespace allot::inline ALLOT_ABI
