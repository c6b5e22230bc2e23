// What a run has done, as text for readers and as JSON for programs.
#pragma once
#include "outcome.hpp"
#include <string>
#include <vector>

namespace tpch {

/// The limit: "32.0 MiB", or "no limit".
std::string name_of(const outcome& o);
std::string table_of(const outcome& o);
/// The same queries with several limits: what each limit costs.
std::string table_of(const std::vector<outcome>& with);
std::string json_of(const outcome& o);

} // namespace tpch
