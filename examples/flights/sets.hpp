// The sets of policies that --set can name, and the one function each is compiled into.
#pragma once
#include "outcome.hpp"
#include <span>
#include <string>
#include <string_view>

namespace flights {

struct options;

struct set_entry {
    std::string_view name;
    outcome (*run)(const options&);
    std::string (*describe)();
};

/// The sets by name, in the order in which --help lists them. One file under sets/ compiles each.
std::span<const set_entry> all_sets();

} // namespace flights
