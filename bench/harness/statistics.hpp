// Medians and quartiles, and ratios of paired rounds: round n of two subjects runs within seconds, so that changes of
// the machine's speed cancel out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace bench {

struct spread {
    double q1 = std::numeric_limits<double>::quiet_NaN();
    double median = q1;
    double q3 = q1;
};

inline double quantile(const std::vector<double>& sorted, double q) noexcept {
    const double at = q * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const auto high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

inline spread spread_of(std::vector<double> values) {
    std::erase_if(values, [](double v) { return !std::isfinite(v); });
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

inline spread ratio_of(const std::vector<double>& of, const std::vector<double>& to) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(of.size(), to.size()); ++i) ratios.push_back(of[i] / to[i]);
    return spread_of(std::move(ratios));
}

} // namespace bench
