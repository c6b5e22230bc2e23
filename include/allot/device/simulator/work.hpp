// Work of the simulated device: the ranges that it uses, and its queues under delayed execution.
//
// A task runs after all earlier tasks of its stream and all tasks that it was ordered after. The next stream is picked
// at random among those with a ready task.
// Invariant: a task is ordered only after tasks that were queued earlier, so some task is always ready.
// Cost: a step visits each stream once. Threads: one at a time; a task must not call the simulator, and must not throw.
// Source: seeded schedules as a second oracle; PCT, Burckhardt et al. (2010).
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device {

/// Memory that an operation reads or writes.
struct range {
    const void* start = nullptr;
    std::size_t bytes = 0;
};

/// The ranges of an operation, as an argument: `{{p, 64}, {q, 32}}`. Does not own them: valid during the call only.
class ranges {
  public:
    ranges() = default;
    ranges(std::initializer_list<range> list) noexcept : all_{list.begin(), list.size()} {}
    ranges(std::span<const range> list) noexcept : all_{list} {}
    const range* begin() const noexcept { return all_.data(); }
    const range* end() const noexcept { return all_.data() + all_.size(); }

  private:
    std::span<const range> all_;
};

namespace detail::sim {

// SplitMix64, Steele et al. (2014).
class random_numbers {
  public:
    explicit random_numbers(std::uint64_t seed) noexcept : state_{seed} {}
    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t n) noexcept { return next() % n; }

  private:
    std::uint64_t state_;
};

// A position in a stream's queue.
struct queue_mark {
    std::uint32_t stream = 0;
    std::uint64_t number = 0;
};

class work_queue {
  public:
    // The next task also runs after this position.
    void run_after(queue_mark m) { pending_.push_back(m); }
    ALLOT_OUTLINE_WARM std::uint64_t push(std::function<void()> run) {
        tasks_.push_back({std::move(run), std::move(pending_)});
        pending_.clear();
        return ++queued_;
    }
    // The position behind all tasks so far.
    std::uint64_t end() {
        settle();
        return queued_;
    }
    std::size_t size() const noexcept { return tasks_.size(); }
    std::uint64_t done() const noexcept { return queued_ - tasks_.size(); }
    bool empty() const noexcept { return tasks_.empty(); }
    // Whether no task is left. Pending order of a next task becomes a task that does nothing, and counts.
    bool settle() {
        if (!pending_.empty()) push({});
        return tasks_.empty();
    }

    // Whether the front task may run. passed(mark): all tasks before this position have run.
    template <class Passed> bool ready(Passed&& passed) const {
        for (const queue_mark& m : tasks_.front().after)
            if (!passed(m)) return false;
        return true;
    }
    // Removes the front task, which counts as done from now on, and returns it.
    std::function<void()> pop() {
        std::function<void()> run = std::move(tasks_.front().run);
        tasks_.pop_front();
        return run;
    }

  private:
    struct task {
        std::function<void()> run;
        std::vector<queue_mark> after;
    };
    std::deque<task> tasks_;
    std::vector<queue_mark> pending_;
    std::uint64_t queued_ = 0;
};

} // namespace detail::sim
} // namespace device
} // namespace allot::inline ALLOT_ABI
