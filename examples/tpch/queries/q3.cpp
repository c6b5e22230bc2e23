#include "../engine/key_bits.hpp"
#include "../engine/partitions.hpp"
#include "../engine/row_table.hpp"
#include "../engine/rows.hpp"
#include "queries.hpp"
#include <algorithm>
#include <chrono>

namespace tpch::q3 {

constexpr std::int32_t today = std::chrono::sys_days{std::chrono::March / 15 / 1995}.time_since_epoch().count();
constexpr std::size_t most_rows = 10;

struct open_order {
    std::int32_t key;
    std::int16_t date, priority;
    std::int64_t revenue;
};
struct sale {
    std::int32_t order, revenue;
};

struct first_rows {
    std::vector<open_order> best; // at most as many as are asked for

    static bool is_before(const open_order& a, const open_order& b) {
        if (a.revenue != b.revenue) return a.revenue > b.revenue;
        return a.date != b.date ? a.date < b.date : a.key < b.key;
    }
    void add(const open_order& o) {
        if (best.size() == most_rows && !is_before(o, best.back())) return;
        best.insert(std::upper_bound(best.begin(), best.end(), o, &is_before), o);
        if (best.size() > most_rows) best.pop_back();
    }
};

struct order_filter {
    const key_bits& customers;
    key_bits& keys;
    partition_writer<open_order> out;
    void add(const chunk& c) {
        for (std::size_t i = 0; i != c.rows(); ++i) {
            if (c.ints(2)[i] >= today || !customers.has(static_cast<std::uint64_t>(c.longs(1)[i]))) continue;
            const std::int64_t key = c.longs(0)[i];
            keys.add(static_cast<std::uint64_t>(key));
            out.add(hash_of_key(key), {narrow<std::int32_t>(key), narrow<std::int16_t>(c.ints(2)[i]),
                                       narrow<std::int16_t>(c.ints(3)[i]), 0});
        }
    }
    auto take() { return out.take(); }
};
struct sale_filter {
    const key_bits& orders;
    partition_writer<sale> out;
    void add(const chunk& c) {
        const auto keys = c.longs(0), prices = c.longs(1), discounts = c.longs(2);
        const auto days = c.ints(3);
        for (std::size_t i = 0; i != c.rows(); ++i) {
            const auto key = static_cast<std::uint64_t>(keys[i]);
            if (days[i] <= today || !orders.has(key)) continue;
            out.add(hash_of_key(keys[i]),
                    {narrow<std::int32_t>(keys[i]), narrow<std::int32_t>(prices[i] * (100 - discounts[i]))});
        }
    }
    auto take() { return out.take(); }
};
struct customer_filter {
    key_bits& keys;
    void add(const chunk& c) {
        for (std::size_t i = 0; i != c.rows(); ++i)
            if (c.text(1, i) == "BUILDING") keys.add(static_cast<std::uint64_t>(c.longs(0)[i]));
    }
    int take() { return 0; }
};

nlohmann::json run(query& q) {
    const table &customer = q.from["customer"], &orders = q.from["orders"], &lineitem = q.from["lineitem"];
    allot::account filters{q.tasks.memory(), allot::name{"customers and orders"}};
    allot::account joins{q.tasks.memory(), allot::name{"join of orders and lineitem"}};
    key_bits customers{q.in, filters, customer.rows()}, keys{q.in, filters, 4 * orders.rows() + 32};
    scan_rows(
        q, filters, customer, {"c_custkey", "c_mktsegment"}, 0, [&] { return customer_filter{customers}; }, [](int) {});
    q.tasks.wait();

    const unsigned bits = partition_bits(q.in, orders.rows() * sizeof(open_order) / 8, 2);
    const std::size_t output = batch_bytes(q.in, std::size_t{1} << bits) << bits;
    partitions open{bits}, sales{bits};
    scan_rows(
        q, filters, orders, {"o_orderkey", "o_custkey", "o_orderdate", "o_shippriority"}, output,
        [&] { return order_filter{customers, keys, {q.in, filters, bits}}; },
        [&](auto made) { open.add(std::move(made)); });
    q.tasks.wait();
    scan_rows(
        q, joins, lineitem, {"l_orderkey", "l_extendedprice", "l_discount", "l_shipdate"}, output,
        [&] { return sale_filter{keys, {q.in, joins, bits}}; }, [&](auto made) { sales.add(std::move(made)); });
    q.tasks.wait();

    first_rows all;
    std::mutex lock;
    work_on_partitions(
        q, joins, bits, [&](std::size_t i) { return open[i].rows; },
        [&](std::size_t i) { return row_table<open_order>::bytes_for(open[i].rows, open[i].bytes); },
        [&](std::size_t i, const hash_range& range) {
            row_table<open_order> table{q.in, joins, range.rows};
            for (const batch& b : open[i].all)
                for_each_row<open_order>(b, [&](const open_order& o) {
                    if (range.has(hash_of_key(o.key))) table.add(hash_of_key(o.key), o);
                });
            for (const batch& b : sales[i].all)
                for_each_row<sale>(b, [&](const sale& s) {
                    if (!range.has(hash_of_key(s.order))) return;
                    if (open_order* const o = table.find(hash_of_key(s.order),
                                                         [&](const open_order& each) { return each.key == s.order; }))
                        o->revenue += s.revenue;
                });
            first_rows best;
            table.for_each([&](const open_order& o) {
                if (o.revenue != 0) best.add(o);
            });
            return best;
        },
        [&](const first_rows& some) {
            const std::lock_guard hold(lock);
            for (const open_order& o : some.best) all.add(o);
        });
    q.tasks.wait();
    auto rows = nlohmann::json::array();
    for (const open_order& o : all.best) rows.push_back({o.key, o.revenue, o.date, o.priority});
    return {{"rows", rows}};
}

} // namespace tpch::q3
