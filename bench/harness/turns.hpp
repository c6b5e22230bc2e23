// Runs subjects in turns, round by round, so that no state of the machine favours one; prints a Markdown table of
// medians.
#pragma once

#include <harness/measure.hpp>
#include <harness/statistics.hpp>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct subject {
    std::string what;
    std::string goal;                       // as the table tells it; none: empty
    double per;                             // operations of a step
    std::function<double(std::size_t)> run; // ns of so many steps
};

// Thread CPU time of so many steps.
template <class Step> double timed(std::size_t n, Step step) {
    const double begin = cpu_ns();
    for (std::size_t i = 0; i != n; ++i) step(i);
    return cpu_ns() - begin;
}

// ns an operation: of each subject, of each round.
using turns = std::vector<std::vector<double>>;

// A round more than asked for warms up.
inline turns take_turns(const std::vector<subject>& all, std::size_t n, int rounds) {
    turns ns(all.size());
    for (int round = -1; round != rounds; ++round)
        for (std::size_t i = 0; i != all.size(); ++i) {
            const std::size_t s = (i + static_cast<std::size_t>(round + 1)) % all.size();
            const double each = all[s].run(n) / static_cast<double>(n) / all[s].per;
            if (round >= 0) ns[s].push_back(each);
        }
    return ns;
}
// The ratio is the median of the rounds' own ratios to the first subject, with quartiles.
inline void write_turns(const std::vector<subject>& all, const turns& ns, const char* first) {
    std::printf("| what | ns | to %s | goal |\n|---|---:|---:|---:|\n", first);
    for (std::size_t s = 0; s != all.size(); ++s) {
        const auto [q1, ratio, q3] = ratio_of(ns[s], ns[0]);
        std::printf("| %s | %.1f | %.2f (%.2f to %.2f) | %s |\n", all[s].what.c_str(), spread_of(ns[s]).median, ratio,
                    q1, q3, all[s].goal.c_str());
    }
    std::printf("\n");
}

} // namespace bench
