// Results as text for a terminal.
#pragma once

#include <harness/results.hpp>

#include <cmath>
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
    std::snprintf(text, sizeof text, "%.2f", ratio_of(of.cpu, to->cpu).median);
    return text;
}

inline void print_cell(const cell& c) {
    const auto& name = name_of(c.what.work);
    const std::string work(name.name), about(name.about);
    if (c.what.work == workload::pages)
        std::printf("\n%s: %s; ns\n", work.c_str(), about.c_str());
    else
        std::printf("\n%s, %s bytes: %s; ns, ratios to the bound, best peer's rows, best raw peer\n",
                    work.c_str(), c.what.size().c_str(), about.c_str());
    const series* const to[]{c.bound(), c.best(kind::peer_rows), c.best(kind::peer_raw)};
    for (const auto& s : c.all) {
        if (s.cpu.empty()) continue;
        const spread cpu = spread_of(s.cpu);
        std::printf("  %-28s%-10s%8.1f [%6.1f %6.1f]", s.subject.c_str(), text_of(s.what), cpu.median, cpu.q1,
                    cpu.q3);
        if (name.threaded) std::printf("  wall %7.1f", spread_of(s.wall).median);
        for (const series* other : to) std::printf("%7s", ratio_text(s, other).c_str());
        std::putchar('\n');
    }
    std::fflush(stdout);
}

inline void print_bytes(const results& all) {
    if (all.bytes.empty()) return;
    std::printf("\nbytes of a row of 64: charged and resident, of 1 M rows; resident, of 10k rows\n");
    for (const auto& line : all.bytes)
        std::printf("  %-28s%-10s%8.2f %8.2f %8.2f\n", line.subject.c_str(), text_of(line.what), line.charged,
                    line.resident, line.few);
}

inline void print_targets(const results& all) {
    if (all.targets.empty()) return;
    std::printf("\ntargets\n");
    for (const auto& t : all.targets)
        std::printf("  %-7s %6.2f of %5.2f  %-48s %s%s%s\n", t.met() ? "met" : "NOT MET", t.value, t.most,
                    t.text.c_str(), t.subject.c_str(), t.against.empty() ? "" : " / ", t.against.c_str());
}

} // namespace bench
