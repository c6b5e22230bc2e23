// W6, W7, T1, T2: two threads on one heap. CPU time is that of both threads together for each operation; wall
// time is that of one thread for each of its operations. W6: both for each row handed over, waiting left out of
// the CPU time.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <workloads/one_thread.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <sched.h>

namespace bench {

class start_line {
  public:
    // Both threads leave together, as often as they meet here.
    void wait() noexcept {
        const unsigned both = arrived_.fetch_add(1) / 2 * 2 + 2;
        while (arrived_.load() < both) sched_yield();
    }

  private:
    std::atomic<unsigned> arrived_{0};
};

// A ring of rows between one producer and one consumer, who hand over 64 rows at a time. A full or empty ring
// yields the core; the CPU time of waiting is told, to be left out of the figures.
class hand_over_ring {
  public:
    static constexpr std::size_t chunk = 64;
    using rows = std::array<void*, chunk>;

    template <class Fill> double put(Fill fill) {
        const std::size_t at = head_.load(std::memory_order_relaxed);
        const double waited = wait_while([&] { return at - tail_.load(std::memory_order_acquire) == size; });
        fill(slots_[at % size]);
        head_.store(at + 1, std::memory_order_release);
        return waited;
    }
    template <class Drain> double take(Drain drain) {
        const std::size_t at = tail_.load(std::memory_order_relaxed);
        const double waited = wait_while([&] { return head_.load(std::memory_order_acquire) == at; });
        drain(slots_[at % size]);
        tail_.store(at + 1, std::memory_order_release);
        return waited;
    }

  private:
    static constexpr std::size_t size = 64;
    template <class Blocked> static double wait_while(Blocked blocked) {
        if (!blocked()) return 0;
        const double start = cpu_ns();
        for (int spin = 1; blocked(); ++spin)
            if (spin % 256 == 0) sched_yield();
        return cpu_ns() - start;
    }
    alignas(64) std::atomic<std::size_t> head_{0};
    alignas(64) std::atomic<std::size_t> tail_{0};
    alignas(64) std::array<rows, size> slots_{};
};

struct both_times {
    std::array<double, 2> cpu{}, begin{}, end{};
    // A thread's timed part; `work` returns the CPU time that it waited.
    template <class Work> void time(std::size_t thread, Work&& work) {
        begin[thread] = wall_ns();
        const double start = cpu_ns();
        const double waited = work();
        cpu[thread] = cpu_ns() - start - waited;
        end[thread] = wall_ns();
    }
    sample each(std::size_t cpu_operations, std::size_t wall_operations) const noexcept {
        return {(cpu[0] + cpu[1]) / static_cast<double>(cpu_operations),
                (std::max(end[0], end[1]) - std::min(begin[0], begin[1])) /
                    static_cast<double>(wall_operations)};
    }
};

template <class Body> void on_two_threads(Body body) {
    std::thread other([&] { body(std::size_t{1}); });
    body(std::size_t{0});
    other.join();
}

template <class Subject, class Sizes>
sample run_hand_over(Subject& subject, const Sizes& sizes, const job& what) {
    const std::size_t chunks = 16'000 / what.scale;
    hand_over_ring ring;
    start_line line;
    both_times times;
    on_two_threads([&](std::size_t thread) {
        typename Subject::user user(subject);
        escape(&user);
        std::size_t number = 0;
        const auto produce = [&](hand_over_ring::rows& rows) {
            for (void*& row : rows) {
                const std::size_t bytes = sizes(number);
                row = user.allocate(bytes);
                touch(row, bytes, number++);
            }
        };
        const auto consume = [&](hand_over_ring::rows& rows) {
            for (void* row : rows) {
                asm volatile("" : : "r"(*static_cast<volatile unsigned char*>(row)) : "memory");
                user.release(row);
            }
        };
        const auto part = [&](std::size_t count) {
            double waited = 0;
            for (std::size_t i = 0; i < count; ++i)
                waited += thread == 0 ? ring.put(produce) : ring.take(consume);
            return waited;
        };
        line.wait();
        part(chunks / 4);
        line.wait();
        times.time(thread, [&] { return part(chunks); });
    });
    const std::size_t n = chunks * hand_over_ring::chunk;
    return times.each(n, n);
}

template <class Subject, class Sizes> sample run_two(Subject& subject, const Sizes& sizes, const job& what) {
    const std::size_t most = what.work == workload::pair_2      ? 2'000'000
                             : what.work == workload::batches_2 ? 1'000'000
                                                                : 300'000;
    const std::size_t n = most / what.scale;
    start_line line;
    both_times times;
    on_two_threads([&](std::size_t thread) {
        typename Subject::user user(subject);
        escape(&user);
        random_source random;
        random.state += thread * 7919;
        std::vector<void*> rows(what.work == workload::replace_2 ? what.live_rows() / 2 : 16);
        const auto part = [&](std::size_t operations) {
            switch (what.work) {
            case workload::pair_2:
                pairs(user, sizes, operations);
                break;
            case workload::batches_2:
                for (std::size_t i = 0; i < operations; i += rows.size()) {
                    fill(user, sizes, rows);
                    drain(user, rows);
                }
                break;
            default:
                replace(user, sizes, rows, operations, random);
            }
        };
        if (what.work == workload::replace_2) fill(user, sizes, rows);
        line.wait();
        part(what.work == workload::replace_2 ? rows.size() : n / 10);
        line.wait();
        times.time(thread, [&] { return part(n), 0.0; });
        line.wait();
        if (what.work == workload::replace_2) drain(user, rows);
    });
    return times.each(2 * n, n);
}

} // namespace bench
