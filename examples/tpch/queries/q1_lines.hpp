// What query 1 adds up of a line: the same code on the host and in a kernel. It uses nothing of allot.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tpch::q1 {

constexpr std::size_t groups = 32 * 32; // by the letters of flag and status
constexpr std::size_t sums_of_group = 6;

/// What a line adds to the sums of its group: quantity, price, discounted price, charge, discount, 1.
struct addends {
    std::size_t group;
    std::int64_t values[sums_of_group];
};
constexpr addends addends_of(std::int64_t quantity, std::int64_t price, std::int64_t discount, std::int64_t tax,
                             char flag, char status) {
    const std::int64_t discounted = price * (100 - discount);
    return {static_cast<std::size_t>((flag & 31) * 32 + (status & 31)),
            {quantity, price, discounted, discounted * (100 + tax), discount, 1}};
}

/// Columns of some rows on a device. Lines that were shipped after the last day are left out.
struct lines {
    const std::int64_t *quantities, *prices, *discounts, *taxes;
    const char *flags, *statuses; // their letters
    const std::int32_t* days;
    std::size_t rows;
    std::int32_t last_day;

    constexpr bool wanted(std::size_t i) const { return days[i] <= last_day; }
    constexpr addends operator[](std::size_t i) const {
        return addends_of(quantities[i], prices[i], discounts[i], taxes[i], flags[i], statuses[i]);
    }
};

} // namespace tpch::q1
