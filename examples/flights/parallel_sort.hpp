// A parallel sort: each thread sorts a slice, then slices are merged in pairs, alternating between the array and a
// second one of the same size from the same memory; the merges of a round run in parallel. O(n log n) comparisons. Not
// stable.
#pragma once
#include "team.hpp"
#include <algorithm>
#include <iterator>
#include <memory_resource>
#include <vector>

namespace flights {

template <class T, class Before> void parallel_sort(std::pmr::vector<T>& items, team& workers, Before before) {
    std::size_t slices = workers.workers();
    const std::size_t count = items.size();
    auto bound = [&](std::size_t slice) {
        return static_cast<std::ptrdiff_t>(count * std::min(slice, slices) / slices);
    };
    workers.run([&](unsigned w) { std::sort(items.begin() + bound(w), items.begin() + bound(w + 1), before); });
    if (slices == 1) return;

    std::pmr::vector<T> other(count, items.get_allocator());
    for (std::size_t step = 1; step < slices; step *= 2) {
        workers.run([&](unsigned w) {
            const std::size_t first = w * 2 * step;
            if (first >= slices) return;
            const auto from = [&](std::size_t s) { return std::make_move_iterator(items.begin() + bound(s)); };
            std::merge(from(first), from(first + step), from(first + step), from(first + 2 * step),
                       other.begin() + bound(first), before);
        });
        items.swap(other);
    }
}

} // namespace flights
