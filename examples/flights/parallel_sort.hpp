// A parallel sort of a list of rows: each thread sorts a slice, then slices are merged in pairs through a second
// list of the same size; the merges of a round run in parallel. O(n log n) comparisons. Not stable.
#pragma once
#include "team.hpp"
#include <algorithm>
#include <memory_resource>
#include <span>
#include <vector>

namespace flights {

/// Requires: the caller has a row array alone (row_array::lock()). If it throws, each row is still in the list, once.
template <class Row, class Before>
void parallel_sort(std::span<void*> rows, std::pmr::memory_resource& memory, team& workers, Before before) {
    const std::size_t slices = workers.workers(), count = rows.size();
    const auto slice = [&](std::span<void*> of, std::size_t first, std::size_t end) {
        const auto bound = [&](std::size_t s) { return count * std::min(s, slices) / slices; };
        return of.subspan(bound(first), bound(end) - bound(first));
    };
    const auto by_row = [&](const void* a, const void* b) {
        return before(*static_cast<const Row*>(a), *static_cast<const Row*>(b));
    };
    workers.run([&](unsigned w) { std::ranges::sort(slice(rows, w, w + 1), by_row); });
    if (slices == 1) return;

    std::pmr::vector<void*> merged(count, nullptr, &memory);
    for (std::size_t step = 1; step < slices; step *= 2) {
        workers.run([&](unsigned w) {
            const std::size_t first = w * 2 * step, second = first + step, end = second + step;
            if (second >= slices) return;
            const std::span<void*> to = slice(merged, first, end);
            std::ranges::merge(slice(rows, first, second), slice(rows, second, end), to.begin(), by_row);
            std::ranges::copy(to, slice(rows, first, end).begin());
        });
    }
}

} // namespace flights
