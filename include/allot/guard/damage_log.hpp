// Damage found under a heap's lock, kept until it may be reported with no lock held. Keeps the first 8.
//
// Invariant: each entry is reported once; entries beyond 8 are dropped until the next take().
// Cost: 216 bytes per heap; one relaxed load where nothing was found. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/row_type.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class damage_log {
  public:
    void add(misuse kind, const std::byte* row, const row_type* type) noexcept {
        const detail::lock_guard hold(lock_);
        if (n_ < entries_.size()) entries_[n_++] = {kind, row, type};
        any_.store(true, std::memory_order_relaxed);
    }
    // A hint: an entry added meanwhile is seen by a later call.
    bool empty() const noexcept { return !any_.load(std::memory_order_relaxed); }
    // Whether it is empty, and no entry is being reported.
    bool is_idle() noexcept {
        const detail::lock_guard hold(lock_);
        return n_ == 0 && reporting_.load(std::memory_order_acquire) == 0;
    }
    // Removes all entries, then calls report(kind, type, row) for each with lock_ released.
    template <class Report> void take(Report report) noexcept {
        std::array<entry, 8> found;
        std::size_t n = 0;
        {
            const detail::lock_guard hold(lock_);
            found = entries_;
            n = std::exchange(n_, 0);
            any_.store(false, std::memory_order_relaxed);
            reporting_.fetch_add(1, std::memory_order_relaxed);
        }
        for (std::size_t i = 0; i < n; ++i) report(found[i].kind, found[i].type, found[i].row);
        reporting_.fetch_sub(1, std::memory_order_release);
    }

  private:
    struct entry {
        misuse kind = {};
        const std::byte* row = nullptr;
        const row_type* type = nullptr;
    };
    std::array<entry, 8> entries_;
    std::size_t n_ = 0;
    std::atomic<bool> any_{false};
    std::atomic<std::uint32_t> reporting_{0}; // calls of take() that report
    spin_lock lock_;
};
struct no_damage_log {
    static constexpr bool is_idle() noexcept { return true; }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
