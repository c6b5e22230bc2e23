// release_all of 1 M rows of 64 bytes without destructors, per page. The arena keeps the pages, so from the second time
// on rows come from used pages.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <harness/timed.hpp>

#include <allot/row_manager.hpp>

#include <cstddef>

namespace bench {

template <class Set, class... Answers> sample run_release_all(const job& what) {
    using namespace allot::literals;
    constexpr int times = 5;
    auto& manager = *new allot::row_manager<Set>{allot::limit{2_GiB}, allot::page_bytes{1_MiB}};
    auto& heap = *new auto(manager.heap(allot::as<Answers...>, what.bytes));
    double spent = 0;
    std::size_t pages = 0;
    for (int time = -1; time < times; ++time) {
        {
            auto user = heap.local();
            for (std::size_t i = 0; i < what.scaled(1'000'000); ++i) touch(user.allocate(), what.bytes, i);
        }
        std::size_t dropped = 0;
        const double took = timed(1, [&] { dropped = heap.release_all(); });
        if (time < 0) continue;
        spent += took;
        pages += dropped;
    }
    return {spent / static_cast<double>(pages)};
}

} // namespace bench
