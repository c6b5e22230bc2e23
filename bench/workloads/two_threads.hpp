// W6, W7, W8, W9, T1 to T3: two threads on one heap, each on its own core. CPU time is the sum of both threads per
// operation; wall time is that of one thread per operation of its own. W6: both per row handed over; waiting is not in
// the CPU time. W8: includes starts and ends of threads.
#pragma once

#include <harness/cores.hpp>
#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <harness/statistics.hpp>
#include <harness/timed.hpp>
#include <workloads/links.hpp>
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
    using rows = std::array<word, chunk>;

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

// The timed part runs several times, both threads starting together, and the median counts: on a machine with other
// work a part in which only one of them ran tells nothing about two.
class both_times {
  public:
    static constexpr std::size_t max_parts = 7;
    static std::size_t parts() noexcept { return traced_operations != nullptr ? 1 : max_parts; }

    // A thread's timed parts, of so many operations each; `work` returns the CPU time that it waited.
    template <class Work> void time(std::size_t thread, start_line& line, std::size_t operations, Work&& work) {
        for (std::size_t i = 0; i < parts(); ++i) {
            line.wait();
            double waited = 0;
            begin_[i][thread] = wall_ns();
            cpu_[i][thread] = timed(operations, [&] { waited = work(); });
            cpu_[i][thread] -= waited;
            end_[i][thread] = wall_ns();
        }
        line.wait();
    }
    // Divided by the operations of a part, of both threads and of one.
    sample each(std::size_t cpu_operations, std::size_t wall_operations) const {
        std::vector<double> cpu, wall;
        for (std::size_t i = 0; i < parts(); ++i) {
            cpu.push_back((cpu_[i][0] + cpu_[i][1]) / static_cast<double>(cpu_operations));
            wall.push_back((std::max(end_[i][0], end_[i][1]) - std::min(begin_[i][0], begin_[i][1])) /
                           static_cast<double>(wall_operations));
        }
        return {spread_of(cpu).median, spread_of(wall).median};
    }

  private:
    using of_parts = std::array<std::array<double, 2>, max_parts>;
    of_parts cpu_{}, begin_{}, end_{};
};

template <class Body> void on_two_threads(Body body) {
    std::thread other([&] {
        pin(1, 2);
        body(std::size_t{1});
    });
    pin(0, 2);
    body(std::size_t{0});
    other.join();
}

template <class Subject, class Sizes> sample run_hand_over(Subject& subject, const Sizes& sizes, const job& what) {
    const std::size_t chunks = what.scaled(4'000, 16);
    hand_over_ring ring;
    start_line line;
    both_times times;
    on_two_threads([&](std::size_t thread) {
        typename Subject::user user(subject);
        escape(&user);
        std::size_t number = 0;
        const auto produce = [&](hand_over_ring::rows& rows) {
            for (word& kept : rows) {
                const std::size_t bytes = sizes(number);
                void* const row = user.allocate(bytes);
                touch(row, bytes, number++);
                kept = sizes.keep(row, bytes);
            }
        };
        const auto consume = [&](hand_over_ring::rows& rows) {
            for (const word w : rows) {
                void* const row = sizes.row(w);
                asm volatile("" : : "r"(*static_cast<volatile unsigned char*>(row)) : "memory");
                user.release(row, sizes.size(w));
            }
        };
        const auto part = [&](std::size_t count) {
            double waited = 0;
            for (std::size_t i = 0; i < count; ++i) waited += thread == 0 ? ring.put(produce) : ring.take(consume);
            return waited;
        };
        line.wait();
        part(chunks);
        times.time(thread, line, chunks * hand_over_ring::chunk, [&] { return part(chunks); });
    });
    const std::size_t n = chunks * hand_over_ring::chunk;
    return times.each(n, n);
}

// W7, T1, T2, T3, W9: both threads do the same.
template <class Subject, class Sizes> sample run_two(Subject& subject, const Sizes& sizes, const job& what) {
    const work id = what.of->id;
    const bool replaces = id == work::replace_2;
    const std::size_t most = id == work::pair_2 ? 500'000 : id == work::batches_2 ? 250'000 : 80'000;
    const std::size_t batch = id == work::batches_2 ? what.of->n : 1;
    const std::size_t n = (what.scaled(most) + batch - 1) / batch * batch;
    start_line line;
    both_times times;
    shelf shared;
    on_two_threads([&](std::size_t thread) {
        typename Subject::user user(subject);
        escape(&user);
        random_source random;
        random.state += thread * 7919;
        std::vector<word> rows(replaces ? what.live_rows() / 2 : what.of->n);
        const auto operate = [&](std::size_t operations) {
            switch (id) {
            case work::pair_2: return pairs(user, sizes, operations);
            case work::batches_2:
                for (std::size_t i = 0; i < operations; i += rows.size()) {
                    fill(user, sizes, rows);
                    drain(user, sizes, rows);
                }
                return;
            case work::churn_2:
                if constexpr (counts_links<typename Subject::user>) churn(user, sizes, shared, operations, random);
                return;
            default: replace(user, sizes, rows, operations, random);
            }
        };
        if (replaces) fill(user, sizes, rows);
        line.wait();
        operate(replaces ? rows.size() : std::max(n, 4 * shelf::size));
        times.time(thread, line, n, [&] { return operate(n), 0.0; });
        if (replaces) drain(user, sizes, rows);
        if (thread == 0) clear(user, sizes, shared);
    });
    return times.each(2 * n, n);
}

// W8, larson: each generation of threads replaces rows of those that the other one left, and ends.
template <class Subject, class Sizes> sample run_larson(Subject& subject, const Sizes& sizes, const job& what) {
    constexpr std::size_t generations = 8;
    const std::size_t n = what.scaled(100'000, 16'000);
    std::array<std::vector<word>, 2> rows{std::vector<word>(what.live_rows() / 2),
                                          std::vector<word>(what.live_rows() / 2)};
    std::array<random_source, 2> random{{{88172645463325252ull}, {362436069362436069ull}}};
    const auto generation = [&](auto body) {
        std::array<std::thread, 2> threads;
        for (std::size_t t = 0; t < 2; ++t)
            threads[t] = std::thread([&, t] {
                pin(t, 2);
                typename Subject::user user(subject);
                escape(&user);
                body(user, t);
            });
        for (auto& thread : threads) thread.join();
    };
    generation([&](auto& user, std::size_t t) { fill(user, sizes, rows[t]); });
    double cpu = 0, wall = 0;
    for (std::size_t g = 0; g <= generations; ++g) { // the first one warms up
        const double start = clock_ns(CLOCK_PROCESS_CPUTIME_ID), begin = wall_ns();
        generation([&](auto& user, std::size_t t) { replace(user, sizes, rows[(g + t) % 2], n, random[t]); });
        if (g == 0) continue;
        cpu += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
        wall += wall_ns() - begin;
    }
    const auto all = static_cast<double>(generations * n);
    return {cpu / all / 2, wall / all};
}

} // namespace bench
