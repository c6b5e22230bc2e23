#include "queries.hpp"

namespace tpch {

std::span<const known_query> all_queries() {
    static constexpr known_query all[] = {{"q1", &pricing_summary}, {"q3", &unshipped_orders},
                                          {"q9", &profit_by_nation}, {"q18", &large_orders},
                                          {"sort", &sorted_lines},   {"join", &lines_with_orders}};
    return all;
}

} // namespace tpch
