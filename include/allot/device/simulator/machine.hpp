// The base of the simulator, below streams and memory: its lock, its threads, counts, planned failures and hazards.
//
// One mutex is held during every call, including the queued work that it runs.
// Invariant: the thread that runs queued work is `runner_`; its calls are refused before they lock the mutex.
// Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/device/error.hpp>
#include <allot/device/simulator/call.hpp>
#include <allot/device/simulator/captures.hpp>
#include <allot/device/simulator/clock.hpp>
#include <allot/device/simulator/faults.hpp>
#include <allot/device/simulator/hazard.hpp>
#include <allot/device/simulator/options.hpp>
#include <allot/device/simulator/work.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device::detail::sim {

struct thread_state {
    std::thread::id id;
    int device = 0;
    capture_mode mode = capture_mode::global;
    std::vector<std::uint32_t> streams; // its per-thread stream on each device; 0: not made yet
};

class machine {
  public:
    explicit machine(const simulator_options& options) : options_{options}, random_{options.seed} {}
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

  protected:
    // The entry of every call: locks, counts, adds the cost, and finds out whether the call fails before it begins.
    class entry {
      public:
        ALLOT_OUTLINE_WARM entry(machine& m, call c) : machine_{m}, call_{c} {
            if (m.runner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
                refused_ = failure::not_permitted;
                return;
            }
            m.mutex_.lock();
            locked_ = true;
            ++m.counts_[static_cast<std::size_t>(c)];
            m.costs_.spend(c);
            if (ALLOT_UNLIKELY(m.lost_ || m.faults_.armed())) refused_ = m.planned_failure_of(c);
        }
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;
        ~entry() {
            if (locked_) machine_.mutex_.unlock();
        }
        bool refused() const noexcept { return refused_ != failure::none; }
        device::error error() const noexcept { return fail(refused_); }
        device::error fail(failure kind) const noexcept { return fail(kind, native_code(kind)); }
        device::error fail(failure kind, int native) const noexcept { return {text_of(call_), native, kind}; }

      private:
        machine& machine_;
        call call_;
        failure refused_ = failure::none;
        bool locked_ = false;
    };

    thread_state& this_thread() {
        const std::thread::id id = std::this_thread::get_id();
        if (last_thread_ < threads_.size() && threads_[last_thread_].id == id) return threads_[last_thread_];
        for (last_thread_ = 0; last_thread_ != threads_.size(); ++last_thread_)
            if (threads_[last_thread_].id == id) return threads_[last_thread_];
        threads_.emplace_back().id = id;
        threads_.back().streams.resize(static_cast<std::size_t>(options_.devices));
        return threads_.back();
    }
    bool is_device(int d) const noexcept { return d >= 0 && d < options_.devices; }

    // Whether a call that is unsafe during captures is refused.
    ALLOT_OUTLINE_WARM bool refused_by_capture() {
        if (ALLOT_LIKELY(captures_.empty())) return false;
        const thread_state& t = this_thread();
        return captures_.refuse(t.id, t.mode);
    }

    // Runs queued work. Requires mutex_.
    template <class Run> void run_now(Run&& run) {
        const running now{runner_};
        run();
    }

    void report(const hazard& h) noexcept { log_.report(options_.sink, h, options_.abort_on_hazard); }

    const simulator_options options_;
    random_numbers random_;
    mutable std::mutex mutex_;
    std::array<std::uint64_t, calls> counts_{};
    faults faults_;
    costs costs_;
    hazard_log log_;
    captures captures_;
    bool lost_ = false;

  private:
    // Sets runner_ while it lives, also if the work throws.
    struct running {
        explicit running(std::atomic<std::thread::id>& runner) noexcept : runner_{runner} {
            runner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        }
        running(const running&) = delete;
        running& operator=(const running&) = delete;
        ~running() { runner_.store(std::thread::id{}, std::memory_order_relaxed); }
        std::atomic<std::thread::id>& runner_;
    };

    ALLOT_OUTLINE_COLD failure planned_failure_of(call c) {
        if (lost_) return failure::device_lost;
        bool sticky = false;
        const failure found = faults_.next_failure(c, sticky);
        lost_ = found != failure::none && sticky;
        return found;
    }

    std::vector<thread_state> threads_;
    std::size_t last_thread_ = 0;
    std::atomic<std::thread::id> runner_{};
};

} // namespace device::detail::sim
} // namespace allot::inline ALLOT_ABI
