// W1 to W5, and common loops. A user is one thread's access to a subject: allocate(bytes) and release(row, bytes),
// inlined, and link(row) where rows are counted.
//
// Each workload warms up before it is timed: rows were allocated and released and their memory touched, so results
// include neither page faults nor the first cutting of pages.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <harness/timed.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace bench {

template <class User, class Sizes> BENCH_NOINLINE void pairs(User& user, const Sizes& sizes, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t bytes = sizes(i);
        void* const row = user.allocate(bytes);
        touch(row, bytes, i);
        user.release(row, bytes);
    }
}
template <class User, class Sizes> BENCH_NOINLINE void fill(User& user, const Sizes& sizes, std::vector<word>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t bytes = sizes(i);
        void* const row = user.allocate(bytes);
        touch(row, bytes, i);
        rows[i] = sizes.keep(row, bytes);
    }
}
template <class User, class Sizes>
BENCH_NOINLINE void drain_back(User& user, const Sizes& sizes, std::vector<word>& rows) {
    for (std::size_t i = rows.size(); i-- != 0;) user.release(sizes.row(rows[i]), sizes.size(rows[i]));
}
template <class User, class Sizes> BENCH_NOINLINE void drain(User& user, const Sizes& sizes, std::vector<word>& rows) {
    for (const word w : rows) user.release(sizes.row(w), sizes.size(w));
}
template <class User, class Sizes>
BENCH_NOINLINE void replace(User& user, const Sizes& sizes, std::vector<word>& rows, std::size_t n,
                            random_source& random) {
    for (std::size_t i = 0; i < n; ++i) {
        word& kept = rows[random.below(rows.size())];
        user.release(sizes.row(kept), sizes.size(kept));
        const std::size_t bytes = sizes(i);
        void* const row = user.allocate(bytes);
        touch(row, bytes, i);
        kept = sizes.keep(row, bytes);
    }
}
inline void shuffle(std::vector<word>& rows, random_source& random) {
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
}

template <class User, class Sizes> sample run_pairs(User& user, const Sizes& sizes, const job& what) {
    const std::size_t n = what.scaled(3'000'000);
    pairs(user, sizes, n / 10);
    return {timed(n, [&] { pairs(user, sizes, n); }) / static_cast<double>(n)};
}

template <class User, class Sizes> sample run_batches(User& user, const Sizes& sizes, const job& what) {
    constexpr int times = 8;
    std::vector<word> rows(what.live_rows());
    const std::size_t n = rows.size();
    random_source random;
    double spent = 0;
    for (int time = -2; time < times; ++time) { // the first two warm up
        if (time < 0) {
            fill(user, sizes, rows);
        } else {
            spent += timed(n, [&] { fill(user, sizes, rows); });
        }
        if (what.of->id == work::random) shuffle(rows, random);
        const auto back = [&] {
            if (what.of->id == work::lifo) drain_back(user, sizes, rows);
            else drain(user, sizes, rows);
        };
        if (time < 0) {
            back();
        } else {
            spent += timed(0, back);
        }
    }
    return {spent / times / static_cast<double>(n)};
}

template <class User, class Sizes> sample run_replace(User& user, const Sizes& sizes, const job& what) {
    std::vector<word> rows(what.live_rows());
    const std::size_t n = what.scaled(600'000);
    random_source random;
    fill(user, sizes, rows);
    replace(user, sizes, rows, rows.size(), random);
    return {timed(n, [&] { replace(user, sizes, rows, n, random); }) / static_cast<double>(n)};
}

} // namespace bench
