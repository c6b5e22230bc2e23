#include "q1.hpp"
#include "../device/device.hpp"
#include "queries.hpp"
#include <array>
#include <string>

namespace tpch::q1 {

static void add(sums& to, std::size_t group, const std::int64_t* values) {
    for (std::size_t k = 0; k != sums_of_group; ++k) to[group][k] += values[k];
}

class adder_on_host final : public adder {
  public:
    void add(const chunk& c) override {
        const auto quantities = c.longs(0), prices = c.longs(1), discounts = c.longs(2), taxes = c.longs(3);
        const char *const flags = c.text_bytes(4), *const statuses = c.text_bytes(5);
        const std::uint32_t *const flag_at = c.offsets(4), *const status_at = c.offsets(5);
        const auto days = c.ints(6);
        for (std::size_t i = 0; i != c.rows(); ++i) {
            if (days[i] > last_day) continue;
            const addends a =
                addends_of(quantities[i], prices[i], discounts[i], taxes[i], flags[flag_at[i]], statuses[status_at[i]]);
            q1::add(*sums_, a.group, a.values);
        }
    }
    std::unique_ptr<sums> take() override { return std::move(sums_); }

  private:
    std::unique_ptr<sums> sums_ = std::make_unique<sums>();
};

struct sum_up {
    std::unique_ptr<adder> by;
    void add(const chunk& c) { by->add(c); }
    std::unique_ptr<sums> take() { return by->take(); }
};

nlohmann::json run(query& q) {
    allot::account scans{q.tasks.memory(), allot::name{"scan of lineitem"}};
    sums all{};
    std::mutex lock;
    scan_rows(
        q, scans, q.from["lineitem"],
        {"l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_returnflag", "l_linestatus", "l_shipdate"}, 0,
        [on = q.device] { return sum_up{on != nullptr ? on->q1_adder() : std::make_unique<adder_on_host>()}; },
        [&](const std::unique_ptr<sums>& some) {
            const std::lock_guard hold(lock);
            for (std::size_t g = 0; g != groups; ++g) add(all, g, (*some)[g].data());
        });
    q.tasks.wait();
    auto rows = nlohmann::json::array();
    for (std::size_t g = 0; g != groups; ++g) {
        const auto& [quantity, price, discounted, charge, discount, count] = all[g];
        if (count != 0)
            rows.push_back({std::string(1, static_cast<char>(64 + g / 32)),
                            std::string(1, static_cast<char>(64 + g % 32)), quantity, price, discounted, charge,
                            discount, count});
    }
    return {{"rows", rows}};
}

} // namespace tpch::q1
