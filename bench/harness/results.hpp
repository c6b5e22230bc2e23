// All samples of a run, and the summary for a terminal: medians, the bound and the best peer of a cell.
#pragma once

#include <harness/job.hpp>
#include <harness/statistics.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

// `pool`: peers that are no general allocator (of one thread, of one size, or never giving back); shown, not judged by.
// `ours_uncounted`: our rows without a link count, to be held against raw peers alone.
enum class kind { ours, ours_uncounted, peer_rows, peer_raw, pool_rows, pool_raw, bound };
inline const char* text_of(kind k) noexcept {
    constexpr const char* names[]{"ours", "ours uncounted", "peer rows", "peer raw", "pool rows", "pool raw", "bound"};
    return names[static_cast<int>(k)];
}

struct series {
    std::string subject;
    kind what;
    std::array<std::vector<double>, most_stats> stats; // one value a round

    bool empty() const noexcept { return stats[0].empty(); }
    double median() const { return spread_of(stats[0]).median; }
};

struct cell {
    job what;
    std::vector<series> all;

    // The one with the lowest median.
    const series* best(kind k) const {
        const series* found = nullptr;
        for (const auto& s : all)
            if (s.what == k && !s.empty() && (found == nullptr || s.median() < found->median())) found = &s;
        return found;
    }
    // What the ratios are taken of: the bare list, where there is none the next best.
    const series* bound() const noexcept {
        for (const std::string_view name :
             {"free list", "free lists, classed", "two atomic adds", "free list, counted",
              "free lists, classed, counted", "shared list", "free lists, huge pages, kept"})
            for (const auto& s : all)
                if (s.subject == name && !s.empty()) return &s;
        return nullptr;
    }
};

struct results {
    std::vector<std::pair<std::string, std::string>> header;
    std::vector<std::string> sets; // describe<Set>()
    std::string command;
    std::size_t rounds = 0;
    std::vector<cell> cells;
};

} // namespace bench
