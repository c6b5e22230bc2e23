// What query 1 adds up of a line: the same code on the host and in a kernel. It uses nothing of allot.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define TPCH_HOST_DEVICE __host__ __device__
#else
#define TPCH_HOST_DEVICE
#endif

namespace tpch::q1 {

/// Of some lines, or of one.
struct sums {
    std::int64_t quantity = 0, price = 0, discounted = 0, charge = 0, discount = 0, count = 0;

    TPCH_HOST_DEVICE constexpr sums& operator+=(const sums& more) {
        quantity += more.quantity, price += more.price, discounted += more.discounted;
        charge += more.charge, discount += more.discount, count += more.count;
        return *this;
    }
};
TPCH_HOST_DEVICE constexpr sums sums_of(std::int64_t quantity, std::int64_t price, std::int64_t discount,
                                        std::int64_t tax) {
    const std::int64_t discounted = price * (100 - discount);
    return {quantity, price, discounted, discounted * (100 + tax), discount, 1};
}

constexpr std::size_t groups = 32 * 32; // by the letters of flag and status
TPCH_HOST_DEVICE constexpr std::size_t group_of(char flag, char status) {
    return static_cast<std::size_t>((flag & 31) * 32 + (status & 31));
}

/// Columns of some rows on a device. Lines that were shipped after the last day are left out.
struct lines {
    const std::int64_t *quantities, *prices, *discounts, *taxes;
    const char *flags, *statuses; // their letters
    const std::int32_t* days;
    std::size_t rows;
    std::int32_t last_day;

    TPCH_HOST_DEVICE constexpr bool wanted(std::size_t i) const { return days[i] <= last_day; }
    TPCH_HOST_DEVICE constexpr std::size_t group(std::size_t i) const { return group_of(flags[i], statuses[i]); }
    TPCH_HOST_DEVICE constexpr sums operator[](std::size_t i) const {
        return sums_of(quantities[i], prices[i], discounts[i], taxes[i]);
    }
};

} // namespace tpch::q1
