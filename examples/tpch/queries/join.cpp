#include "../engine/partitions.hpp"
#include "../engine/row_table.hpp"
#include "../engine/rows.hpp"
#include "queries.hpp"
#include <fmt/core.h>

namespace tpch::join {

struct part_lines {
    line_reader reads;
    partition_writer<line> out;
    void add(const chunk& c) {
        reads(c, [&](const line& l, const char* comment) { out.add(hash_of_key(l.order), l, comment); });
    }
    auto take() { return out.take(); }
};
struct part_orders {
    order_reader reads;
    partition_writer<order> out;
    void add(const chunk& c) {
        reads(c, [&](const order& o, const char* texts) { out.add(hash_of_key(o.key), o, texts); });
    }
    auto take() { return out.take(); }
};
struct pairs {
    std::uint64_t rows = 0, sum = 0;
};

nlohmann::json run(query& q) {
    const table &orders = q.from["orders"], &lineitem = q.from["lineitem"];
    allot::account left{q.tasks.memory(), allot::name{"parts of lineitem"}};
    allot::account right{q.tasks.memory(), allot::name{"parts of orders"}};
    allot::account joins{q.tasks.memory(), allot::name{"join"}};
    row_codes codes;
    const unsigned bits = partition_bits(q.in, orders.rows() * 100, 4);
    const std::size_t output = batch_bytes(q.in, std::size_t{1} << bits) << bits;
    partitions of_orders{bits}, of_lines{bits};
    scan_rows(
        q, right, orders, order_columns, output, [&] { return part_orders{order_reader{codes}, {q.in, right, bits}}; },
        [&](auto made) { of_orders.add(std::move(made)); });
    scan_rows(
        q, left, lineitem, line_columns, output, [&] { return part_lines{line_reader{codes}, {q.in, left, bits}}; },
        [&](auto made) { of_lines.add(std::move(made)); });
    q.tasks.wait();
    pairs all;
    std::mutex lock;
    work_on_partitions(
        q, joins, bits, [&](std::size_t i) { return of_orders[i].rows; },
        [&](std::size_t i) { return row_table<order>::bytes_for(of_orders[i].rows, of_orders[i].bytes); },
        [&](std::size_t i, const hash_range& range) {
            row_table<order> table{q.in, joins, range.rows};
            for (const batch& b : of_orders[i].all)
                for_each_row<order>(b, [&](const order& o) {
                    if (range.has(hash_of_key(o.key))) table.add(hash_of_key(o.key), o, tail_of(o));
                });
            pairs some;
            for (const batch& b : of_lines[i].all)
                for_each_row<line>(b, [&](const line& l) {
                    const std::uint64_t hash = hash_of_key(l.order);
                    if (!range.has(hash)) return;
                    const order* const o = table.find(hash, [&](const order& each) { return each.key == l.order; });
                    if (o == nullptr) return;
                    some.sum += pair_hash(hash_of(l, tail_of(l), codes), hash_of(*o, tail_of(*o), codes));
                    ++some.rows;
                });
            return some;
        },
        [&](const pairs& some) {
            const std::lock_guard hold(lock);
            all.rows += some.rows, all.sum += some.sum;
        });
    q.tasks.wait();
    return {{"rows", all.rows}, {"checksum", fmt::format("{:016x}", all.sum)}};
}

} // namespace tpch::join
