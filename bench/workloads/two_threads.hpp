// W6, W7, T1, T2: two threads on one heap. CPU time is that of both threads together for each operation; wall
// time is that of one thread for each of its operations (W6: for each row handed over).
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

// A ring of rows between one producer and one consumer; a full or empty ring yields the core.
class hand_over_ring {
  public:
    void put(void* row) noexcept {
        const std::size_t at = head_.load(std::memory_order_relaxed);
        for (int spin = 0; at - tail_.load(std::memory_order_acquire) == size;) wait(spin);
        slots_[at % size] = row;
        head_.store(at + 1, std::memory_order_release);
    }
    void* take() noexcept {
        const std::size_t at = tail_.load(std::memory_order_relaxed);
        for (int spin = 0; head_.load(std::memory_order_acquire) == at;) wait(spin);
        void* const row = slots_[at % size];
        tail_.store(at + 1, std::memory_order_release);
        return row;
    }

  private:
    static constexpr std::size_t size = 1024;
    static void wait(int& spin) noexcept {
        if (++spin % 64 == 0) sched_yield();
    }
    alignas(64) std::atomic<std::size_t> head_{0};
    alignas(64) std::atomic<std::size_t> tail_{0};
    alignas(64) std::array<void*, size> slots_{};
};

struct both_times {
    std::array<double, 2> cpu{}, begin{}, end{};
    // A thread's timed part.
    template <class Work>
    void time(std::size_t thread, Work&& work) {
        begin[thread] = wall_ns();
        const double start = cpu_ns();
        work();
        cpu[thread] = cpu_ns() - start;
        end[thread] = wall_ns();
    }
    sample each(std::size_t cpu_operations, std::size_t wall_operations) const noexcept {
        return {(cpu[0] + cpu[1]) / static_cast<double>(cpu_operations),
                (std::max(end[0], end[1]) - std::min(begin[0], begin[1])) / static_cast<double>(wall_operations)};
    }
};

template <class Body>
void on_two_threads(Body body) {
    std::thread other([&] { body(std::size_t{1}); });
    body(std::size_t{0});
    other.join();
}

template <class Subject, class Sizes>
sample run_hand_over(Subject& subject, const Sizes& sizes, const job& what) {
    const std::size_t n = 800'000 / what.scale;
    hand_over_ring ring;
    start_line line;
    both_times times;
    on_two_threads([&](std::size_t thread) {
        typename Subject::user user(subject);
        escape(&user);
        const auto produce = [&](std::size_t rows) {
            for (std::size_t i = 0; i < rows; ++i) {
                const std::size_t bytes = sizes(i);
                void* const row = user.allocate(bytes);
                touch(row, bytes, i);
                ring.put(row);
            }
        };
        const auto consume = [&](std::size_t rows) {
            for (std::size_t i = 0; i < rows; ++i) {
                void* const row = ring.take();
                asm volatile("" : : "r"(*static_cast<volatile unsigned char*>(row)) : "memory");
                user.release(row);
            }
        };
        const auto part = [&](std::size_t rows) { thread == 0 ? produce(rows) : consume(rows); };
        line.wait();
        part(n / 4);
        line.wait();
        times.time(thread, [&] { part(n); });
    });
    return times.each(n, n);
}

template <class Subject, class Sizes>
sample run_two(Subject& subject, const Sizes& sizes, const job& what) {
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
            case workload::pair_2: pairs(user, sizes, operations); break;
            case workload::batches_2:
                for (std::size_t i = 0; i < operations; i += rows.size()) {
                    fill(user, sizes, rows);
                    drain(user, rows);
                }
                break;
            default: replace(user, sizes, rows, operations, random);
            }
        };
        if (what.work == workload::replace_2) fill(user, sizes, rows);
        line.wait();
        part(what.work == workload::replace_2 ? rows.size() : n / 10);
        line.wait();
        times.time(thread, [&] { part(n); });
        line.wait();
        if (what.work == workload::replace_2) drain(user, rows);
    });
    return times.each(2 * n, n);
}

} // namespace bench
