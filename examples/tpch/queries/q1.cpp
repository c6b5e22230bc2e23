#include "queries.hpp"
#include <array>
#include <chrono>
#include <string>

namespace tpch::q1 {

constexpr std::int32_t last_day =
    (std::chrono::sys_days{std::chrono::December / 1 / 1998} - std::chrono::days{90}).time_since_epoch().count();

struct sums {
    std::int64_t quantity = 0, price = 0, discounted = 0, charge = 0, discount = 0, count = 0;
};
using groups = std::array<std::array<sums, 32>, 32>; // by the letters of both flags

struct sum_up {
    std::unique_ptr<groups> all = std::make_unique<groups>();

    void add(const chunk& c) {
        const auto quantities = c.longs(0), prices = c.longs(1), discounts = c.longs(2), taxes = c.longs(3);
        const char *const flags = c.text_bytes(4), *const statuses = c.text_bytes(5);
        const std::uint32_t *const flag_at = c.offsets(4), *const status_at = c.offsets(5);
        const auto days = c.ints(6);
        for (std::size_t i = 0; i != c.rows(); ++i) {
            if (days[i] > last_day) continue;
            sums& s = (*all)[flags[flag_at[i]] & 31][statuses[status_at[i]] & 31];
            const std::int64_t discounted = prices[i] * (100 - discounts[i]);
            s.quantity += quantities[i], s.price += prices[i], s.discounted += discounted;
            s.charge += discounted * (100 + taxes[i]), s.discount += discounts[i], ++s.count;
        }
    }
    std::unique_ptr<groups> take() { return std::move(all); }
};

nlohmann::json run(query& q) {
    allot::account scans{q.tasks.memory(), allot::name{"scan of lineitem"}};
    groups all{};
    std::mutex lock;
    scan_rows(
        q, scans, q.from["lineitem"],
        {"l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_returnflag", "l_linestatus", "l_shipdate"}, 0,
        [] { return sum_up{}; },
        [&](const std::unique_ptr<groups>& some) {
            const std::lock_guard hold(lock);
            for (std::size_t f = 0; f != 32; ++f)
                for (std::size_t s = 0; s != 32; ++s) {
                    sums& to = all[f][s];
                    const sums& from = (*some)[f][s];
                    to.quantity += from.quantity, to.price += from.price, to.discounted += from.discounted;
                    to.charge += from.charge, to.discount += from.discount, to.count += from.count;
                }
        });
    q.tasks.wait();
    auto rows = nlohmann::json::array();
    for (std::size_t f = 0; f != 32; ++f)
        for (std::size_t s = 0; s != 32; ++s)
            if (const sums& g = all[f][s]; g.count != 0)
                rows.push_back({std::string(1, static_cast<char>(64 + f)), std::string(1, static_cast<char>(64 + s)),
                                g.quantity, g.price, g.discounted, g.charge, g.discount, g.count});
    return {{"rows", rows}};
}

} // namespace tpch::q1
