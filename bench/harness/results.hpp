// Every sample of a run, and what is read out of them: medians, the bound and the best peer of a cell, ratios.
#pragma once

#include <harness/job.hpp>
#include <harness/statistics.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

enum class kind { ours, peer_rows, peer_raw, bound };
inline const char* text_of(kind k) noexcept {
    constexpr const char* names[]{"ours", "peer rows", "peer raw", "bound"};
    return names[static_cast<int>(k)];
}

struct series {
    std::string subject;
    kind what;
    std::vector<double> cpu, wall; // one a round
};

struct cell {
    job what;
    std::vector<series> all;

    const series* find(std::string_view subject) const noexcept {
        for (const auto& s : all)
            if (s.subject == subject && !s.cpu.empty()) return &s;
        return nullptr;
    }
    // The peer with the lowest median.
    const series* best(kind k) const {
        const series* found = nullptr;
        for (const auto& s : all)
            if (s.what == k && !s.cpu.empty() &&
                (found == nullptr || spread_of(s.cpu).median < spread_of(found->cpu).median))
                found = &s;
        return found;
    }
    const series* bound() const noexcept {
        const auto* const list = find("free list");
        return list != nullptr ? list : find("free lists, classed");
    }
};

struct bytes_line {
    std::string subject;
    kind what;
    double charged, resident, few;
};

struct target {
    std::string text;
    std::string subject;
    double value, most;
    std::string against; // the peer or bound it was held to
    bool met() const noexcept { return value <= most; }
};

struct results {
    std::vector<std::pair<std::string, std::string>> header;
    std::vector<std::string> sets; // describe<Set>()
    std::string command;
    std::size_t rounds = 0;
    std::vector<cell> cells;
    std::vector<bytes_line> bytes;
    std::vector<target> targets;

    const cell* find(workload work, std::size_t row_bytes) const noexcept {
        for (const auto& c : cells)
            if (c.what.work == work && c.what.bytes == row_bytes) return &c;
        return nullptr;
    }
};

} // namespace bench
