// W1 to W5. A user is one thread's way to a subject: allocate(bytes) and release(row), inlined.
//
// Each warms up before it is timed: rows were allocated and released, and their memory touched, so neither page
// faults nor the first carving of pages are in the figures.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace bench {

template <class User, class Sizes> BENCH_NOINLINE void pairs(User& user, const Sizes& sizes, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t bytes = sizes(i);
        void* const row = user.allocate(bytes);
        touch(row, bytes, i);
        user.release(row);
    }
}
template <class User, class Sizes>
BENCH_NOINLINE void fill(User& user, const Sizes& sizes, std::vector<void*>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t bytes = sizes(i);
        rows[i] = user.allocate(bytes);
        touch(rows[i], bytes, i);
    }
}
template <class User> BENCH_NOINLINE void drain_back(User& user, std::vector<void*>& rows) {
    for (std::size_t i = rows.size(); i-- != 0;) user.release(rows[i]);
}
template <class User> BENCH_NOINLINE void drain(User& user, std::vector<void*>& rows) {
    for (void* row : rows) user.release(row);
}
template <class User, class Sizes>
BENCH_NOINLINE void replace(User& user, const Sizes& sizes, std::vector<void*>& rows, std::size_t n,
                            random_source& random) {
    for (std::size_t i = 0; i < n; ++i) {
        void*& row = rows[random.below(rows.size())];
        user.release(row);
        const std::size_t bytes = sizes(i);
        row = user.allocate(bytes);
        touch(row, bytes, i);
    }
}
inline void shuffle(std::vector<void*>& rows, random_source& random) {
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
}

template <class User, class Sizes> sample run_pairs(User& user, const Sizes& sizes, const job& what) {
    const std::size_t n = 3'000'000 / what.scale;
    pairs(user, sizes, n / 10);
    const double start = cpu_ns();
    pairs(user, sizes, n);
    return {(cpu_ns() - start) / static_cast<double>(n)};
}

template <class User, class Sizes> sample run_batches(User& user, const Sizes& sizes, const job& what) {
    constexpr int times = 8;
    std::vector<void*> rows(what.live_rows());
    random_source random;
    double spent = 0;
    for (int time = -2; time < times; ++time) { // the first two warm up
        if (time == 0) spent = 0;
        double start = cpu_ns();
        fill(user, sizes, rows);
        spent += cpu_ns() - start;
        if (what.work == workload::random) shuffle(rows, random);
        start = cpu_ns();
        if (what.work == workload::lifo)
            drain_back(user, rows);
        else
            drain(user, rows);
        spent += cpu_ns() - start;
    }
    return {spent / times / static_cast<double>(rows.size())};
}

template <class User, class Sizes> sample run_replace(User& user, const Sizes& sizes, const job& what) {
    std::vector<void*> rows(what.live_rows());
    const std::size_t n = 600'000 / what.scale;
    random_source random;
    fill(user, sizes, rows);
    replace(user, sizes, rows, rows.size(), random);
    const double start = cpu_ns();
    replace(user, sizes, rows, n, random);
    return {(cpu_ns() - start) / static_cast<double>(n)};
}

} // namespace bench
