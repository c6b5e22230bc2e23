// What a row of 64 bytes takes: charged bytes a row of 1 M rows, and the growth of the process's resident memory
// a row, every row written. Peers have no charge; their resident growth stands beside ours.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>

#include <allot/row_manager.hpp>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

namespace bench {

struct row_bytes {
    double charged = 0;  // a row, of 1 M rows; 0 for peers
    double resident = 0; // a row, of 1 M rows
    double few = 0;      // resident bytes a row, of 1e4 rows
};

// Of this process, exact (smaps_rollup; the counters of statm lag by some pages).
inline std::size_t resident_bytes() {
    std::ifstream file("/proc/self/smaps_rollup");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("Rss:")) return std::stoul(line.substr(4)) * 1024;
    return 0;
}

struct packed_rows : allot::policies<allot::slots::bitmap, allot::heap::unique, allot::size::packed> {};
struct exact_rows : allot::policies<allot::slots::bitmap, allot::heap::unique, allot::size::exact> {};
struct fine_rows : allot::policies<allot::slots::bitmap, allot::size::bucketed<allot::size::list::fine>> {};
struct roxie_rows : allot::policies<allot::slots::bitmap, allot::size::bucketed<allot::size::list::roxie>> {};
struct uncounted_rows
    : allot::policies<allot::slots::bitmap, allot::heap::unique, allot::size::packed, allot::count::none> {};

namespace detail {

// Growth of resident memory a row, for `n` rows. `Take` must not need more memory than that of its rows.
template <class Take> double grown(std::size_t n, Take take) {
    std::vector<void*> rows(n, &n);
    const std::size_t before = resident_bytes();
    for (std::size_t i = 0; i < n; ++i) {
        rows[i] = take();
        touch(rows[i], 64, i);
    }
    return static_cast<double>(resident_bytes() - before) / static_cast<double>(n);
}

} // namespace detail

inline constexpr std::size_t many_rows = 1'000'000, few_rows = 10'000;

template <class Set> row_bytes bytes_of_set(std::size_t rows) {
    auto& manager = *new allot::row_manager<Set>{allot::limit{2_GiB}, allot::page_bytes{1_MiB}};
    auto& heap = *new auto(manager.heap(64));
    const double resident = detail::grown(rows, [&] { return heap.allocate(); });
    return {static_cast<double>(manager.used()) / static_cast<double>(rows), resident, resident};
}

template <class Peer> row_bytes bytes_of_peer(const Peer& from, std::size_t rows, std::size_t bytes) {
    const double resident = detail::grown(rows, [&] { return from.allocate(bytes); });
    return {0, resident, resident};
}

} // namespace bench
