// Output for tools/gpu-check: one JSON object per line, flushed, so that a run that is cut short keeps its results.
// Names and units contain nothing that must be escaped.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace gpu {

inline void figure(const std::string& name, double value, const char* unit) {
    std::printf("{\"limit\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name.c_str(), value, unit);
    std::fflush(stdout);
}
/// What could not be measured, and why.
inline void no_figure(const std::string& name, const char* why) {
    std::printf("{\"limit\": \"%s\", \"missing\": \"%s\"}\n", name.c_str(), why);
    std::fflush(stdout);
}

inline double now_ns() {
    return static_cast<double>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

struct quantiles {
    double p50 = 0, p99 = 0, max = 0;
};
inline quantiles quantiles_of(std::vector<std::uint32_t>& samples) {
    if (samples.empty()) return {};
    std::sort(samples.begin(), samples.end());
    const auto at = [&](std::size_t percent) {
        return static_cast<double>(samples[(samples.size() - 1) * percent / 100]);
    };
    return {at(50), at(99), at(100)};
}

} // namespace gpu
