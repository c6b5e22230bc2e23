// Runs a set in a process of its own: this program once more, which has allocated nothing yet.
#pragma once

#include "entry.hpp"
#include "sequence.hpp"

#include <cstddef>
#include <optional>
#include <span>

namespace replay {

/// Those of sets.hpp.
std::span<const entry> all_sets();

/// Returns: none if the process failed, or took longer than `seconds`.
std::optional<figures> run_in_process(const sequence& t, std::size_t set, const how& h, unsigned seconds);

/// To be called first in main(): whether this is such a process. Then `code` is its exit code.
bool is_run_in_process(int argc, char** argv, int& code);

} // namespace replay
