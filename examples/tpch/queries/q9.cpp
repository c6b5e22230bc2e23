#include "../engine/key_bits.hpp"
#include "../engine/partitions.hpp"
#include "../engine/row_table.hpp"
#include "../engine/rows.hpp"
#include "queries.hpp"
#include <array>
#include <chrono>
#include <stdexcept>
#include <string>

namespace tpch::q9 {

constexpr int first_year = 1992, years = 7; // of all orders
constexpr std::size_t nations = 25;

struct offer { // of a supplier for a part
    std::int32_t part, supplier, cost;
};
struct sale {
    std::int32_t part, supplier, order, quantity;
    std::int64_t amount; // without the cost
};
struct profit {
    std::int64_t amount;
    std::int32_t order, nation;
};
struct dated {
    std::int32_t order, year;
};
using sums = std::array<std::array<std::int64_t, years>, nations>;
struct summed {
    sums amount{};
    std::array<std::array<bool, years>, nations> any{};
};

struct part_filter {
    key_bits& green;
    void add(const chunk& c) {
        for (std::size_t i = 0; i != c.rows(); ++i)
            if (c.text(1, i).find("green") != std::string_view::npos)
                green.add(static_cast<std::uint64_t>(c.longs(0)[i]));
    }
    int take() { return 0; }
};
struct offer_filter {
    const key_bits& green;
    partition_writer<offer> out;
    void add(const chunk& c) {
        for (std::size_t i = 0; i != c.rows(); ++i) {
            if (!green.has(static_cast<std::uint64_t>(c.longs(0)[i]))) continue;
            const offer o{narrow<std::int32_t>(c.longs(0)[i]), narrow<std::int32_t>(c.longs(1)[i]),
                          narrow<std::int32_t>(c.longs(2)[i])};
            out.add(hash_of_key(o.part), o);
        }
    }
    auto take() { return out.take(); }
};
struct sale_filter {
    const key_bits& green;
    partition_writer<sale> out;
    void add(const chunk& c) {
        const auto parts = c.longs(0);
        for (std::size_t i = 0; i != c.rows(); ++i) {
            if (!green.has(static_cast<std::uint64_t>(parts[i]))) continue;
            const sale s{narrow<std::int32_t>(parts[i]), narrow<std::int32_t>(c.longs(1)[i]),
                         narrow<std::int32_t>(c.longs(2)[i]), narrow<std::int32_t>(c.longs(3)[i]),
                         c.longs(4)[i] * (100 - c.longs(5)[i])};
            out.add(hash_of_key(s.part), s);
        }
    }
    auto take() { return out.take(); }
};
struct order_filter {
    const key_bits& sold;
    partition_writer<dated> out;
    void add(const chunk& c) {
        for (std::size_t i = 0; i != c.rows(); ++i) {
            if (!sold.has(static_cast<std::uint64_t>(c.longs(0)[i]))) continue;
            const std::chrono::sys_days day{std::chrono::days{c.ints(1)[i]}};
            const dated d{narrow<std::int32_t>(c.longs(0)[i]),
                          static_cast<int>(std::chrono::year_month_day{day}.year())};
            out.add(hash_of_key(d.order), d);
        }
    }
    auto take() { return out.take(); }
};
// Throws: std::runtime_error for a number that no place of `size` has: data that do not fit together.
std::size_t place_of(std::int64_t number, std::size_t size, const char* what) {
    if (number < 0 || static_cast<std::uint64_t>(number) >= size)
        throw std::runtime_error(std::string("tpch: ") + what +
                                 " is not what its table allows: " + std::to_string(number));
    return static_cast<std::size_t>(number);
}
// A small table by key: its second column.
template <class Value, class Take>
std::vector<Value> by_key(query& q, allot::account& by, const char* name, std::vector<const char*> columns, Take take) {
    const table& t = q.from[name];
    std::vector<Value> all(t.rows() + 1);
    const auto types = t.types(columns);
    for (std::size_t part = 0; part != t.parts(); ++part) {
        chunk c{q.in.buffers, by, types};
        query_memory memory{q.readers};
        const auto reads = t.read(part, 0, t.rows_of(part), columns, memory);
        while (reads->next(c))
            for (std::size_t i = 0; i != c.rows(); ++i)
                all[place_of(c.longs(0)[i], all.size(), columns[0])] = take(c, i);
    }
    return all;
}

nlohmann::json run(query& q) {
    const table &part = q.from["part"], &partsupp = q.from["partsupp"], &orders = q.from["orders"],
                &lineitem = q.from["lineitem"];
    allot::account filters{q.tasks.memory(), allot::name{"parts"}};
    allot::account costs{q.tasks.memory(), allot::name{"join of lineitem and partsupp"}};
    allot::account joins{q.tasks.memory(), allot::name{"join with orders"}};
    key_bits green{q.in, filters, part.rows()}, sold{q.in, joins, 4 * orders.rows() + 32};
    std::vector<std::uint8_t> nation_of;
    std::vector<std::string> names;
    scan_rows(q, filters, part, {"p_partkey", "p_name"}, 0, [&] { return part_filter{green}; }, [](int) {});
    q.tasks.add({.name = "suppliers and nations"}, [&] {
        allot::oom::with_retry_no_split([&] {
            nation_of =
                by_key<std::uint8_t>(q, filters, "supplier", {"s_suppkey", "s_nationkey"},
                                     [](const chunk& c, std::size_t i) { return narrow<std::uint8_t>(c.longs(1)[i]); });
            names = by_key<std::string>(q, filters, "nation", {"n_nationkey", "n_name"},
                                        [](const chunk& c, std::size_t i) { return std::string(c.text(1, i)); });
            names.resize(std::max(names.size(), nations)); // a nation that is not there has no name
        });
    });
    q.tasks.wait();

    const unsigned bits = partition_bits(q.in, partsupp.rows() * sizeof(offer) / 8, 2);
    const std::size_t output = batch_bytes(q.in, std::size_t{1} << bits) << bits;
    partitions offers{bits}, sales{bits}, profits{bits}, dates{bits};
    scan_rows(
        q, costs, partsupp, {"ps_partkey", "ps_suppkey", "ps_supplycost"}, output,
        [&] { return offer_filter{green, {q.in, costs, bits}}; }, [&](auto made) { offers.add(std::move(made)); });
    scan_rows(
        q, costs, lineitem, {"l_partkey", "l_suppkey", "l_orderkey", "l_quantity", "l_extendedprice", "l_discount"},
        output, [&] { return sale_filter{green, {q.in, costs, bits}}; },
        [&](auto made) { sales.add(std::move(made)); });
    q.tasks.wait();
    work_on_partitions(
        q, costs, bits, [&](std::size_t i) { return offers[i].rows; },
        [&](std::size_t i) { return row_table<offer>::bytes_for(offers[i].rows, offers[i].bytes) + output; },
        [&](std::size_t i, const hash_range& range) {
            row_table<offer> table{q.in, costs, range.rows};
            partition_writer<profit> out{q.in, joins, bits};
            for (const batch& b : offers[i].all)
                for_each_row<offer>(b, [&](const offer& o) {
                    if (range.has(hash_of_key(o.part))) table.add(hash_of_key(o.part), o);
                });
            for (const batch& b : sales[i].all)
                for_each_row<sale>(b, [&](const sale& s) {
                    if (!range.has(hash_of_key(s.part))) return;
                    table.find(hash_of_key(s.part), [&](const offer& o) { // in small data there are several
                        if (o.part != s.part || o.supplier != s.supplier) return false;
                        sold.add(static_cast<std::uint64_t>(s.order));
                        out.add(hash_of_key(s.order), {s.amount - std::int64_t{o.cost} * s.quantity, s.order,
                                                       nation_of[place_of(s.supplier, nation_of.size(), "l_suppkey")]});
                        return false;
                    });
                });
            return out.take();
        },
        [&](auto made) { profits.add(std::move(made)); });
    q.tasks.wait();
    scan_rows(
        q, joins, orders, {"o_orderkey", "o_orderdate"}, output,
        [&] { return order_filter{sold, {q.in, joins, bits}}; }, [&](auto made) { dates.add(std::move(made)); });
    q.tasks.wait();
    summed all;
    std::mutex lock;
    work_on_partitions(
        q, joins, bits, [&](std::size_t i) { return dates[i].rows; },
        [&](std::size_t i) { return row_table<dated>::bytes_for(dates[i].rows, dates[i].bytes); },
        [&](std::size_t i, const hash_range& range) {
            row_table<dated> table{q.in, joins, range.rows};
            summed some;
            for (const batch& b : dates[i].all)
                for_each_row<dated>(b, [&](const dated& d) {
                    if (range.has(hash_of_key(d.order))) table.add(hash_of_key(d.order), d);
                });
            for (const batch& b : profits[i].all)
                for_each_row<profit>(b, [&](const profit& p) {
                    if (!range.has(hash_of_key(p.order))) return;
                    const dated* const d =
                        table.find(hash_of_key(p.order), [&](const dated& each) { return each.order == p.order; });
                    if (d == nullptr) return;
                    const std::size_t nation = place_of(p.nation, nations, "s_nationkey"),
                                      year =
                                          place_of(d->year - first_year, years, "the year of o_orderdate, less 1992,");
                    some.amount[nation][year] += p.amount, some.any[nation][year] = true;
                });
            return some;
        },
        [&](const summed& some) {
            const std::lock_guard hold(lock);
            for (std::size_t n = 0; n != nations; ++n)
                for (std::size_t y = 0; y != years; ++y)
                    all.amount[n][y] += some.amount[n][y], all.any[n][y] = all.any[n][y] || some.any[n][y];
        });
    q.tasks.wait();
    auto rows = nlohmann::json::array();
    std::vector<std::size_t> order(nations);
    for (std::size_t n = 0; n != nations; ++n) order[n] = n;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return names[a] < names[b]; });
    for (const std::size_t n : order)
        for (std::size_t y = years; y-- != 0;)
            if (all.any[n][y]) rows.push_back({names[n], first_year + static_cast<int>(y), all.amount[n][y]});
    return {{"rows", rows}};
}

} // namespace tpch::q9
