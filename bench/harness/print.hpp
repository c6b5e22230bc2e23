// Prints results as text for a terminal.
#pragma once

#include <harness/results.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

namespace bench {

inline void print_header(const results& all) {
    for (const auto& [name, value] : all.header) std::printf("%-24s%s\n", name.c_str(), value.c_str());
    for (const auto& set : all.sets) std::printf("\n%s", set.c_str());
    std::fflush(stdout);
}

inline std::string ratio_text(const series& of, const series* to) {
    if (to == nullptr) return "-";
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", ratio_of(of.stats[0], to->stats[0]).median);
    return text;
}

// Medians of every figure, the quartiles of the first.
inline void print_cell(const cell& c) {
    const workload& of = *c.what.of;
    std::printf("\n%s, %s bytes: %s;", std::string(of.name).c_str(), c.what.size().c_str(),
                std::string(of.about).c_str());
    for (const auto name : of.stats)
        if (!name.empty()) std::printf(" %s,", std::string(name).c_str());
    std::printf(" ratios to the bound, best peer's rows, best raw peer\n");
    const series* const to[]{c.bound(), c.best(kind::peer_rows), c.best(kind::peer_raw)};
    for (const auto& s : c.all) {
        if (s.empty()) continue;
        const spread first = spread_of(s.stats[0]);
        std::printf("  %-28s%-15s%8.1f [%6.1f %6.1f]", s.subject.c_str(), text_of(s.what), first.median, first.q1,
                    first.q3);
        for (std::size_t i = 1; i < most_stats; ++i)
            if (!of.stats[i].empty()) std::printf("%9.2f", spread_of(s.stats[i]).median);
        for (const series* other : to) std::printf("%7s", ratio_text(s, other).c_str());
        std::putchar('\n');
    }
    std::fflush(stdout);
}

} // namespace bench
