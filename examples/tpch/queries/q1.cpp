#include "q1.hpp"
#include "../device/device.hpp"
#include "queries.hpp"
#include <array>
#include <chrono>
#include <string>

namespace tpch::q1 {

constexpr std::int32_t last_day =
    (std::chrono::sys_days{std::chrono::December / 1 / 1998} - std::chrono::days{90}).time_since_epoch().count();

lines lines_of(const chunk& c) {
    return {c.longs(0).data(), c.longs(1).data(), c.longs(2).data(), c.longs(3).data(), c.offsets(4), c.offsets(5),
            c.text_bytes(4),   c.text_bytes(5),   c.ints(6).data(),  c.rows(),          last_day};
}

static void add(sums& to, std::size_t group, const std::int64_t* values) {
    for (std::size_t k = 0; k != sums_of_group; ++k) to[group][k] += values[k];
}

class adder_on_host final : public adder {
  public:
    void add(const chunk& c) override {
        const lines l = lines_of(c);
        for (std::size_t i = 0; i != l.rows; ++i) {
            if (l.days[i] > l.last_day) continue;
            const addends a = addends_of(l, i);
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
