// The memory of a row of 64 bytes: charged and resident bytes per additional row, with every row written, and the share
// of the growth that is returned when all rows are released and the arena is trimmed. Peers have no charge and are not
// trimmed.
//
// Both are measured when about 1 M rows fill whole pages, and again with about five times as many rows; the difference
// is divided by the rows between. Charged bytes per row at exactly 1 M rows are printed too: they include the rest of
// the last page, up to 1 MiB or 1 byte per row.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <harness/resident.hpp>

#include <allot/row_manager.hpp>

#include <cstddef>
#include <vector>

namespace bench {

// `take` must not need more memory than that of its rows.
template <class Take, class Give, class Charged>
sample measure_bytes(const job& what, Take take, Give give, Charged charged) {
    constexpr std::size_t page_of_rows = 20'000; // more rows than the largest page has
    const std::size_t n = what.scaled(what.of->n);
    std::vector<void*> rows(5 * n + 2 * page_of_rows, &give); // touched
    std::size_t taken = 0;
    const auto take_one = [&] {
        rows[taken] = take();
        touch(rows[taken++], 64, 1);
    };
    struct stats {
        double rows, charged, resident;
    };
    // All pages but one are full, and that one has a single row. Peers are just asked for so many rows.
    const auto to_whole_pages = [&] {
        const double before = charged();
        double now = before;
        for (std::size_t i = 0; i < page_of_rows && now == before; ++i) take_one(), now = charged();
        return stats{static_cast<double>(taken), now, static_cast<double>(resident_bytes())};
    };

    static_cast<void>(resident_bytes()); // takes some memory of its own, once
    const auto before = static_cast<double>(resident_bytes());
    while (taken < n) take_one();
    const double at_n = charged() / static_cast<double>(n);
    const stats small = to_whole_pages();
    while (taken < 5 * n) take_one();
    const stats large = to_whole_pages();
    const double more = large.rows - small.rows;
    rows.resize(taken);
    give(rows);
    const double left = static_cast<double>(resident_bytes()) - before;
    return {(large.charged - small.charged) / more, at_n, (large.resident - small.resident) / more,
            100 * (1 - left / (large.resident - before))};
}

template <class Set> sample bytes_of_set(const job& what) {
    using namespace allot::literals;
    auto& manager = *new allot::row_manager<Set>{allot::limit{2_GiB}, allot::page_bytes{1_MiB}};
    auto& heap = *new auto(manager.heap(64));
    return measure_bytes(
        what, [&] { return heap.allocate(); },
        [&](const std::vector<void*>& rows) {
            for (void* row : rows) heap.release(row);
            manager.release_empty_pages();
            manager.arena().trim();
        },
        [&] { return static_cast<double>(manager.used()); });
}

template <class Peer> sample bytes_of_peer(const Peer& from, const job& what, std::size_t bytes) {
    return measure_bytes(
        what, [&] { return from.allocate(bytes); },
        [&](const std::vector<void*>& rows) {
            for (void* row : rows) from.release(row);
        },
        [] { return 0.0; });
}

} // namespace bench
