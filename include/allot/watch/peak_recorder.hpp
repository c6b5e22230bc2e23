// What watch::peaks records beside the counters: which row types had the memory when most of it was charged.
//
// The snapshot is taken at the page request that lifts the charge more than 1/16 above that of the snapshot before, so
// it tells of a moment within 6.25 % (or a page) of the peak. What makes it is asked for by a hook: a walk over the
// heaps whose work is bounded (histogram_at_peak). A page of slots that made the peak holds no rows yet.
// Invariant: the snapshot that readers get is whole, and its charge never falls.
// Cost: 3.4 KiB a manager; two additions a page more than the counters. Threads: any; whoever finds a snapshot being
// taken goes on without. Source: HPCC roxiemem's setActivityTracking, 2010, which walks at every new peak.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/watch/charge_counters.hpp>
#include <allot/watch/type_histogram.hpp>

#include <atomic>
#include <cstddef>

namespace allot::inline ALLOT_ABI {

// The rows by type when `charged` bytes were.
struct peak_usage {
    std::size_t charged = 0;
    type_histogram types;
};

class peak_recorder : public charge_counters {
  public:
    using histogram_source = void (*)(void* manager, type_histogram& into) noexcept;

    // Before anything is charged.
    void ask(histogram_source count_types, void* manager) noexcept {
        source_ = count_types;
        manager_ = manager;
    }
    void charged(std::size_t bytes) noexcept {
        charge_counters::charged(bytes);
        held_.fetch_add(bytes, std::memory_order_relaxed);
    }
    // What was charged has found its place: now a census sees it.
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
    std::size_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

  private:
    ALLOT_COLD void take_snapshot(std::size_t held) noexcept {
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
    mutable spin_lock lock_;
    peak_usage kept_;
};

} // namespace allot::inline ALLOT_ABI
