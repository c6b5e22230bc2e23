// W10: a new process allocates n rows, replaces random ones, and releases all in order. Page faults are included, since
// they are the cost of growth. Resident bytes are the growth of the process over the payload, without file-backed
// memory.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <harness/resident.hpp>
#include <workloads/one_thread.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bench {

template <class User, class Sizes> sample run_growth(User& user, const Sizes& sizes, const job& what) {
    std::vector<word> rows(what.live_rows(), 1); // touched
    const auto n = static_cast<double>(rows.size());
    const std::size_t replaced = std::clamp<std::size_t>(rows.size(), 100'000, 1'000'000) / what.scale;
    std::size_t payload = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) payload += sizes(i);
    random_source random;
    static_cast<void>(resident_bytes()); // takes some memory of its own, once
    const std::size_t before = resident_bytes();
    const double build = timed(rows.size(), [&] { fill(user, sizes, rows); }) / n;
    const double resident = static_cast<double>(resident_bytes() - before) / static_cast<double>(payload);
    const double again =
        timed(replaced, [&] { replace(user, sizes, rows, replaced, random); }) / static_cast<double>(replaced);
    const double teardown = timed(rows.size(), [&] { drain(user, sizes, rows); }) / n;
    return {build, again, teardown, resident};
}

} // namespace bench
