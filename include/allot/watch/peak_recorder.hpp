// watch::peaks: the counters, and rows and bytes by row type at the time when most was charged.
//
// A page request that lifts the charge more than 1/16 above that of the last snapshot takes a new one. So a snapshot is
// within 6.25 % (or one page) of the peak. A hook of the manager makes it: a walk over the heaps whose work is bounded
// (histogram_at_peak). A page of slots that made the peak holds no rows yet.
// Invariant: readers get a whole snapshot, and its charge never falls.
// Cost: 3.4 KiB per manager; per page two additions more than the counters. Threads: any; a thread that finds another
// one taking a snapshot continues without. Source: HPCC roxiemem's setActivityTracking, 2010, which walks at every
// peak.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/watch/charge_counters.hpp>
#include <allot/watch/type_histogram.hpp>

#include <atomic>
#include <cstddef>

namespace allot::inline ALLOT_ABI {

/// Rows and bytes by row type, when `charged` bytes were charged.
struct peak_usage {
    std::size_t charged = 0;
    type_histogram types;
};

namespace detail {

class peak_recorder : public charge_counters {
  public:
    using histogram_source = void (*)(void* manager, type_histogram& into) noexcept;

    // Sets the hook that counts rows by type. Call before anything is charged.
    void ask(histogram_source count_types, void* manager) noexcept {
        source_ = count_types;
        manager_ = manager;
    }
    void charged(std::size_t bytes) noexcept {
        charge_counters::charged(bytes);
        held_.fetch_add(bytes, std::memory_order_relaxed);
    }
    // Call once charged pages are in use, with no heap lock held: takes a snapshot if one is due.
    void settled() noexcept {
        const std::size_t now = held();
        if (ALLOT_UNLIKELY(now > next_.load(std::memory_order_relaxed))) take_snapshot(now);
    }
    void refunded(std::size_t bytes) noexcept {
        charge_counters::refunded(bytes);
        held_.fetch_sub(bytes, std::memory_order_relaxed);
    }
    peak_usage at_peak() const noexcept {
        const detail::lock_guard hold(lock_);
        return kept_;
    }
    // Bytes charged now.
    std::size_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

  private:
    ALLOT_OUTLINE_COLD void take_snapshot(std::size_t held) noexcept {
        if (source_ == nullptr || taking_snapshot_.exchange(true, std::memory_order_acquire)) return;
        if (held > next_.load(std::memory_order_relaxed)) {
            peak_usage now;
            now.charged = held;
            source_(manager_, now.types);
            {
                const detail::lock_guard hold(lock_);
                kept_ = now;
            }
            next_.store(held + held / 16, std::memory_order_relaxed);
        }
        taking_snapshot_.store(false, std::memory_order_release);
    }

    std::atomic<std::size_t> held_{0};
    std::atomic<std::size_t> next_{0}; // a snapshot is taken above this
    histogram_source source_ = nullptr;
    void* manager_ = nullptr;
    std::atomic<bool> taking_snapshot_{false};
    mutable basic_spin_lock<lock_rank::peak> lock_;
    peak_usage kept_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
