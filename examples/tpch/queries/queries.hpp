// The queries: Q1, Q3, Q9 and Q18 of TPC-H with the values of its validation, lineitem sorted by (shipdate, orderkey,
// linenumber), and lineitem joined with orders; all columns of both.
//
// An answer is what expected/ has: rows, or how many there are and their checksum (data/checksum.hpp).
#pragma once

#include "../engine/query.hpp"
#include <nlohmann/json.hpp>
#include <span>

namespace tpch {

struct known_query {
    const char* name;
    nlohmann::json (*run)(query&);
};
std::span<const known_query> all_queries();

nlohmann::json pricing_summary(query& q);       // q1: 4 groups of 98 % of all lines
nlohmann::json unshipped_orders(query& q);      // q3: the 10 with the most revenue
nlohmann::json profit_by_nation(query& q);      // q9: of green parts, by nation and year
nlohmann::json large_orders(query& q);          // q18: of more than 300 pieces
nlohmann::json sorted_lines(query& q);          // sort
nlohmann::json lines_with_orders(query& q);     // join

} // namespace tpch
