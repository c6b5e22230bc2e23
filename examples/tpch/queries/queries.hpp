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

namespace q1 { // 4 groups of nearly all lines
nlohmann::json run(query& q);
}
namespace q3 { // the 10 orders with the most revenue that are not shipped
nlohmann::json run(query& q);
}
namespace q9 { // the profit of green parts, by nation and year
nlohmann::json run(query& q);
}
namespace q18 { // orders of more than 300 pieces
nlohmann::json run(query& q);
}
namespace sort {
nlohmann::json run(query& q);
}
namespace join {
nlohmann::json run(query& q);
}

} // namespace tpch
