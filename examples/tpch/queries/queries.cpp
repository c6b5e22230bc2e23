#include "queries.hpp"

namespace tpch {

std::span<const known_query> all_queries() {
    static constexpr known_query all[] = {{"q1", &q1::run},   {"q3", &q3::run},     {"q9", &q9::run},
                                          {"q18", &q18::run}, {"sort", &sort::run}, {"join", &join::run}};
    return all;
}

} // namespace tpch
