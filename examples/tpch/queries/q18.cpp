#include "../engine/key_bits.hpp"
#include "../engine/partitions.hpp"
#include "../engine/row_table.hpp"
#include "../engine/rows.hpp"
#include "queries.hpp"
#include <algorithm>
#include <map>
#include <string>

namespace tpch::q18 {

constexpr std::int64_t many_pieces = 30'000; // hundredths
constexpr std::size_t most_rows = 100;

struct pieces {
    std::int32_t order, quantity;
};
struct large_order {
    std::int64_t key, customer, date, price;
};

// Lines of an order mostly follow each other, and become one row.
struct sum_lines {
    partition_writer<pieces> out;
    pieces last{-1, 0};
    void add(const chunk& c) {
        const auto orders = c.longs(0), quantities = c.longs(1);
        for (std::size_t i = 0; i != c.rows(); ++i) {
            if (orders[i] != last.order) {
                flush();
                last = {narrow<std::int32_t>(orders[i]), 0};
            }
            last.quantity += narrow<std::int32_t>(quantities[i]);
        }
    }
    void flush() {
        if (last.order >= 0) out.add(hash_of_key(last.order), last);
    }
    auto take() {
        flush();
        return out.take();
    }
};
struct order_filter {
    const key_bits& keys;
    std::vector<large_order> found{};
    void add(const chunk& c) {
        for (std::size_t i = 0; i != c.rows(); ++i)
            if (keys.has(static_cast<std::uint64_t>(c.longs(0)[i])))
                found.push_back({c.longs(0)[i], c.longs(1)[i], c.ints(2)[i], c.longs(3)[i]});
    }
    auto take() { return std::move(found); }
};
struct customer_filter {
    const std::map<std::int64_t, std::string>& wanted;
    std::vector<std::pair<std::int64_t, std::string>> found{};
    void add(const chunk& c) {
        for (std::size_t i = 0; i != c.rows(); ++i)
            if (wanted.contains(c.longs(0)[i])) found.emplace_back(c.longs(0)[i], c.text(1, i));
    }
    auto take() { return std::move(found); }
};

nlohmann::json run(query& q) {
    const table &customer = q.from["customer"], &orders = q.from["orders"], &lineitem = q.from["lineitem"];
    allot::account groups{q.tasks.memory(), allot::name{"pieces by order"}};
    allot::account filters{q.tasks.memory(), allot::name{"orders and customers"}};
    const unsigned bits = partition_bits(q.in, orders.rows() * 2 * sizeof(pieces), 3);
    const std::size_t output = batch_bytes(q.in, std::size_t{1} << bits) << bits;
    std::map<std::int64_t, std::int64_t> large; // orders, and their pieces: few
    std::mutex lock;
    {
        partitions lines{bits};
        scan_rows(
            q, groups, lineitem, {"l_orderkey", "l_quantity"}, output, [&] { return sum_lines{{q.in, groups, bits}}; },
            [&](auto made) { lines.add(std::move(made)); });
        q.tasks.wait();
        work_on_partitions(
            q, groups, bits, [&](std::size_t i) { return lines[i].rows; },
            [&](std::size_t i) { return row_table<pieces>::bytes_for(lines[i].rows, lines[i].bytes); },
            [&](std::size_t i, const hash_range& range) {
                row_table<pieces> table{q.in, groups, range.rows};
                for (const batch& b : lines[i].all)
                    for_each_row<pieces>(b, [&](const pieces& p) {
                        const std::uint64_t hash = hash_of_key(p.order);
                        if (!range.has(hash)) return;
                        pieces* const has = table.find(hash, [&](const pieces& each) { return each.order == p.order; });
                        if (has != nullptr) has->quantity += p.quantity;
                        else table.add(hash, p);
                    });
                std::vector<pieces> some;
                table.for_each([&](const pieces& p) {
                    if (p.quantity > many_pieces) some.push_back(p);
                });
                return some;
            },
            [&](const std::vector<pieces>& some) {
                const std::lock_guard hold(lock);
                for (const pieces& p : some) large.emplace(p.order, p.quantity);
            });
        q.tasks.wait();
    }
    key_bits keys{q.in, filters, 4 * orders.rows() + 32};
    for (const auto& [key, quantity] : large) keys.add(static_cast<std::uint64_t>(key));
    std::vector<large_order> found;
    scan_rows(
        q, filters, orders, {"o_orderkey", "o_custkey", "o_orderdate", "o_totalprice"}, 0,
        [&] { return order_filter{keys}; },
        [&](const std::vector<large_order>& some) {
            const std::lock_guard hold(lock);
            found.insert(found.end(), some.begin(), some.end());
        });
    q.tasks.wait();
    std::sort(found.begin(), found.end(), [](const large_order& a, const large_order& b) {
        if (a.price != b.price) return a.price > b.price;
        return a.date != b.date ? a.date < b.date : a.key < b.key;
    });
    if (found.size() > most_rows) found.resize(most_rows);
    std::map<std::int64_t, std::string> names;
    for (const large_order& o : found) names[o.customer];
    scan_rows(
        q, filters, customer, {"c_custkey", "c_name"}, 0, [wanted = names] { return customer_filter{wanted}; },
        [&](const auto& some) {
            const std::lock_guard hold(lock);
            for (const auto& [key, name] : some) names[key] = name;
        });
    q.tasks.wait();
    auto rows = nlohmann::json::array();
    for (const large_order& o : found)
        rows.push_back({names[o.customer], o.customer, o.key, o.date, o.price, large[o.key]});
    return {{"rows", rows}};
}

} // namespace tpch::q18
