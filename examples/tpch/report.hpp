// The result of a run: a table, or a line of JSON for each query.
#pragma once
#include "outcome.hpp"
#include <string>

namespace tpch {

std::string table_of(const outcome& o);
std::string json_of(const outcome& o);

} // namespace tpch
