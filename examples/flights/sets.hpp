// The policy sets of --set; each is compiled into one function.
#pragma once
#include "outcome.hpp"
#include <span>
#include <string>
#include <string_view>

namespace flights {

struct options;

struct set_entry {
    std::string_view name;
    outcome (*run)(const options&, shared::memory_page*); // null: no page
    std::string (*describe)();
};

/// The sets in the order of --help. Each is compiled by a file in sets/.
std::span<const set_entry> all_sets();

} // namespace flights
