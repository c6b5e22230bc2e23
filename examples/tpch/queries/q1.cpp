#include "q1.hpp"
#include "../device/device.hpp"
#include "queries.hpp"
#include <array>
#include <string>

namespace tpch::q1 {

class adder_on_host final : public adder {
  public:
    void add(const chunk& c) override {
        const auto quantities = c.longs(0), prices = c.longs(1), discounts = c.longs(2), taxes = c.longs(3);
        const char *const flags = c.text_bytes(4), *const statuses = c.text_bytes(5);
        const std::uint32_t *const flag_at = c.offsets(4), *const status_at = c.offsets(5);
        const auto days = c.ints(6);
        group_sums& all = *sums_;
        for (std::size_t i = 0; i != days.size(); ++i) {
            if (days[i] > last_day) continue;
            all[group_of(flags[flag_at[i]], statuses[status_at[i]])] +=
                sums_of(quantities[i], prices[i], discounts[i], taxes[i]);
        }
    }
    std::unique_ptr<group_sums> take() override { return std::move(sums_); }

  private:
    std::unique_ptr<group_sums> sums_ = std::make_unique<group_sums>();
};

struct sum_up {
    std::unique_ptr<adder> by;
    void add(const chunk& c) { by->add(c); }
    std::unique_ptr<group_sums> take() { return by->take(); }
};

nlohmann::json run(query& q) {
    allot::account scans{q.tasks.memory(), allot::name{"scan of lineitem"}};
    group_sums all{};
    std::mutex lock;
    scan_rows(
        q, scans, q.from["lineitem"],
        {"l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_returnflag", "l_linestatus", "l_shipdate"}, 0,
        [on = q.device] { return sum_up{on != nullptr ? on->q1_adder() : std::make_unique<adder_on_host>()}; },
        [&](const std::unique_ptr<group_sums>& some) {
            const std::lock_guard hold(lock);
            for (std::size_t g = 0; g != groups; ++g) all[g] += (*some)[g];
        });
    q.tasks.wait();
    auto rows = nlohmann::json::array();
    for (std::size_t g = 0; g != groups; ++g)
        if (const sums& of = all[g]; of.count != 0)
            rows.push_back({std::string(1, static_cast<char>(64 + g / 32)),
                            std::string(1, static_cast<char>(64 + g % 32)), of.quantity, of.price, of.discounted,
                            of.charge, of.discount, of.count});
    return {{"rows", rows}};
}

} // namespace tpch::q1
