// What a row of 64 bytes takes: charged bytes a row; the growth of the process's resident memory a row, every row
// written; and how much of that growth goes back when all rows are released and the arena is trimmed. Peers have no
// charge and are not asked to trim.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <workloads/growth.hpp>

#include <allot/row_manager.hpp>

#include <cstddef>
#include <vector>

namespace bench {

// `take` must not need more memory than that of its rows.
template <class Take, class Give, class Charged>
sample measure_bytes(const job& what, Take take, Give give, Charged charged) {
    const auto n = static_cast<double>(what.scaled(what.of->n));
    std::vector<void*> rows(what.scaled(what.of->n), &give);
    static_cast<void>(resident_bytes()); // takes some memory of its own, once
    const std::size_t before = resident_bytes();
    for (void*& row : rows) {
        row = take();
        touch(row, 64, 1);
    }
    const auto grown = static_cast<double>(resident_bytes() - before);
    const double charge = charged();
    give(rows);
    const auto left = static_cast<double>(resident_bytes()) - static_cast<double>(before);
    return {charge / n, grown / n, 100 * (1 - left / grown)};
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
