// The output of the program: text, or one JSON object.
#pragma once
#include "options.hpp"
#include "outcome.hpp"
#include <string>

namespace flights {

/// The answers, then the memory use.
std::string page_for(const outcome& from, const options& asked);

/// The first bad lines of each file, by line number; empty if there are none.
std::string bad_lines_of(const outcome& from);

std::string json_for(const outcome& from, const options& asked);

} // namespace flights
