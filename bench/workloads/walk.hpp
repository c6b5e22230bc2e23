// A random walk over 1 GiB of rows, and the cost of getting that memory: by the kind of OS pages, and by whether a
// program that releases everything keeps its pages or returns them.
//
//   cold       rows are built for the first time, with page faults
//   step       each row holds the place of the next, in random order: one miss of cache and TLB after another
//   read       random rows at known places: misses overlap
//   write      the same, with one word of each row changed
//   give back  all rows are released in order, and pages are returned as the subject's `retain` policy requires
//   again      the rows are built a second time
//
// CPU time of the thread per row or step. The walk visits at most 2 M rows, spread over all of the memory, each once.
// "huge %" is the share of resident memory in huge OS pages: if it is low, the request for huge pages had no effect.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <harness/resident.hpp>
#include <workloads/one_thread.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace bench {

// Rows from all of the memory, in random order.
template <class Sizes>
std::vector<char*> strewn(const Sizes& sizes, const std::vector<word>& rows, random_source& random) {
    constexpr std::size_t most = 2'000'000;
    const std::size_t n = std::min(most, rows.size()), each = rows.size() / n;
    std::vector<char*> places(n);
    for (std::size_t i = 0; i < n; ++i) places[i] = static_cast<char*>(sizes.row(rows[i * each + random.below(each)]));
    for (std::size_t i = n; i > 1; --i) std::swap(places[i - 1], places[random.below(i)]);
    return places;
}

BENCH_NOINLINE inline void chain(const std::vector<char*>& places) {
    for (std::size_t i = 0; i < places.size(); ++i)
        std::memcpy(places[i], &places[(i + 1) % places.size()], sizeof(char*));
}
BENCH_NOINLINE inline void follow(char* at, std::size_t steps) {
    for (std::size_t i = 0; i < steps; ++i) std::memcpy(&at, at, sizeof at);
    escape(at);
}
BENCH_NOINLINE inline void read_all(const std::vector<char*>& places) {
    std::uint64_t sum = 0;
    for (const char* at : places) {
        std::uint64_t one;
        std::memcpy(&one, at, sizeof one);
        sum += one;
    }
    asm volatile("" : : "r"(sum));
}
BENCH_NOINLINE inline void write_all(const std::vector<char*>& places) {
    for (std::size_t i = 0; i < places.size(); ++i) write_word(places[i], 8, i);
    escape(places.data());
}

template <class Subject, class Sizes> sample run_walk(Subject& subject, const Sizes& sizes, const job& what) {
    typename Subject::user user(subject);
    escape(&user);
    std::vector<word> rows(what.live_rows(), 1); // touched
    const auto n = static_cast<double>(rows.size());
    std::size_t payload = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) payload += sizes(i);

    static_cast<void>(resident_now());
    const resident_memory before = resident_now();
    std::size_t faults = page_faults();
    const double cold = timed(rows.size(), [&] { fill(user, sizes, rows); }) / n;
    const std::size_t faults_cold = page_faults() - faults;
    const resident_memory full = resident_now();
    const auto grown = static_cast<double>(full.bytes - before.bytes);

    double step = 0, read = 0, write = 0;
    {
        random_source random;
        const std::vector<char*> places = strewn(sizes, rows, random);
        const auto steps = static_cast<double>(places.size());
        chain(places);
        step = timed(places.size(), [&] { follow(places[0], places.size()); }) / steps;
        read = timed(places.size(), [&] { read_all(places); }) / steps;
        write = timed(places.size(), [&] { write_all(places); }) / steps;
    }
    const double back = timed(rows.size(),
                              [&] {
                                  drain(user, sizes, rows);
                                  if constexpr (requires { subject.give_back(); }) subject.give_back();
                              }) /
                        n;
    const double left = static_cast<double>(resident_now().bytes) - static_cast<double>(before.bytes);
    faults = page_faults();
    const double again = timed(rows.size(), [&] { fill(user, sizes, rows); }) / n;
    const std::size_t faults_again = page_faults() - faults;
    return {step,
            read,
            write,
            cold,
            back,
            again,
            grown / static_cast<double>(payload),
            100 * static_cast<double>(full.huge - std::min(full.huge, before.huge)) / grown,
            100 * left / grown,
            static_cast<double>(faults_cold),
            static_cast<double>(faults_again)};
}

} // namespace bench
