// What query 1 adds up of a line: the same code on the host and in a kernel. It uses nothing of allot.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tpch::q1 {

/// Columns of some rows of lineitem. Those that were shipped after the last day are left out.
struct lines {
    const std::int64_t *quantities, *prices, *discounts, *taxes;
    const std::uint32_t *flag_at, *status_at; // where the first letters are
    const char *flags, *statuses;
    const std::int32_t* days;
    std::size_t rows;
    std::int32_t last_day;
};

constexpr std::size_t groups = 32 * 32; // by the letters of flag and status
constexpr std::size_t sums_of_group = 6;

/// What a line adds to the sums of its group: quantity, price, discounted price, charge, discount, 1.
struct addends {
    std::size_t group;
    std::int64_t values[sums_of_group];
};
constexpr addends addends_of(const lines& l, std::size_t i) {
    const std::int64_t discounted = l.prices[i] * (100 - l.discounts[i]);
    return {static_cast<std::size_t>((l.flags[l.flag_at[i]] & 31) * 32 + (l.statuses[l.status_at[i]] & 31)),
            {l.quantities[i], l.prices[i], discounted, discounted * (100 + l.taxes[i]), l.discounts[i], 1}};
}

} // namespace tpch::q1
