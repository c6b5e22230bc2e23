// The cost of a page beside many other live heaps; it must not grow with their number.
//
// A manager with pages of 64 KiB has `others` heaps of one row, and so of one page, each. Another heap, with rows of
// half a page, takes pages and returns all of them (release_empty_pages), repeatedly. Only its allocations are timed,
// from the second time on, so results include no page faults.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>

#include <allot/row_manager.hpp>

#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

namespace bench {

using namespace allot::literals;

// Huge OS pages would make 4000 pages with one row each resident as a whole.
struct plain_pages : allot::policies<allot::slots::bitmap,
                                     allot::page::mapped<allot::page::mapped_options{.transparent_huge = false}>> {};

inline sample run_pages(const job& what) {
    const std::size_t others = what.of->n;
    constexpr std::size_t pages = 200;
    constexpr std::size_t half_page = 30'000;
    const std::size_t times = what.scale > 1 ? 3 : 40;
    using manager_type = allot::row_manager<plain_pages>;
    auto& rows = *new manager_type{allot::limit{2_GiB}, allot::page_bytes{64_KiB}, allot::name{"pages"}};
    using heap_type = decltype(rows.heap(allot::as<allot::heap::unique>, half_page));
    std::vector<heap_type> other_heaps;
    for (std::size_t i = 0; i < others; ++i) {
        other_heaps.push_back(rows.heap(allot::as<allot::heap::unique>, 16 + i % 512 * 8));
        write_word(other_heaps.back().allocate(), 0, i);
    }
    auto& taker = *new heap_type(rows.heap(allot::as<allot::heap::unique>, half_page));
    auto user = taker.local();
    escape(&user);
    std::vector<void*> taken(pages * 2);
    const auto held = [&rows] {
        const allot::row_stats now = rows.stats();
        return now.charged - now.idle;
    };
    const std::size_t without = held();
    double spent = 0;
    for (std::size_t time = 0; time <= times; ++time) {
        const double start = cpu_ns();
        for (void*& row : taken) {
            row = user.allocate();
            touch(row, 64, time);
        }
        if (time != 0) spent += cpu_ns() - start;
        for (void* row : taken) user.release(row);
        rows.release_empty_pages();
        if (held() > without + 2 * 64_KiB) std::abort(); // the pages did not go back: nothing is measured
    }
    static_cast<void>(new std::vector<heap_type>(std::move(other_heaps))); // the process ends with them
    return {spent / static_cast<double>(times * pages)};
}

} // namespace bench
