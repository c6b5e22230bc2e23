// A team of threads. `run(fn)` calls fn(worker) once on each of N threads and returns after all have returned.
//
// The first exception stops the other threads at their next `morsels::next`, and is rethrown by `run`, so main sees an
// out_of_memory of any thread. A thread lives for one `run`; worker 0 is the caller.
#pragma once
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace flights {

class team {
  public:
    explicit team(unsigned workers) : workers_(workers == 0 ? 1 : workers) {}

    unsigned workers() const { return workers_; }
    bool stopping() const { return stop_.load(std::memory_order_relaxed); }

    template <class Fn> void run(Fn fn) {
        std::exception_ptr first;
        std::mutex lock;
        auto guarded = [&](unsigned worker) noexcept {
            try {
                fn(worker);
            } catch (...) {
                const std::lock_guard held{lock};
                if (!first) first = std::current_exception();
                stop_.store(true, std::memory_order_relaxed);
            }
        };
        {
            std::vector<std::jthread> others;
            others.reserve(workers_ - 1);
            for (unsigned w = 1; w != workers_; ++w) others.emplace_back(guarded, w);
            guarded(0);
        }
        stop_.store(false, std::memory_order_relaxed);
        if (first) std::rethrow_exception(first);
    }

  private:
    unsigned workers_;
    std::atomic<bool> stop_{false};
};

/// Hands out each of 0 .. count - 1 to one caller, until all are handed out or the team stops.
class morsels {
  public:
    morsels(const team& workers, std::size_t count) : team_(workers), count_(count) {}

    bool next(std::size_t& index) {
        if (team_.stopping()) return false;
        index = next_.fetch_add(1, std::memory_order_relaxed);
        return index < count_;
    }

  private:
    const team& team_;
    std::size_t count_;
    std::atomic<std::size_t> next_{0};
};

} // namespace flights
