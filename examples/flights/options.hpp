// The command line.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flights {

inline constexpr std::array<std::string_view, 5> query_names{"carriers", "months", "routes", "delays", "sorted"};

/// The operators of each query, by the names of their accounts.
inline constexpr std::array<const char*, 13> operator_names{
    "load/read",    "carriers/join", "carriers/group", "carriers/sort", "months/group", "months/sort", "routes/join",
    "routes/group", "routes/sort",   "delays/join",    "delays/sort",   "sorted/sort",  "device/copy"};

/// The name in the list above. Requires: it is in the list.
const char* operator_named(std::string_view query, std::string_view name);

struct limit_of_operator {
    std::string name; // NAME: all operators of this name; QUERY/NAME: one operator
    std::size_t bytes = 0;
};

struct options {
    std::string flights, airlines, planes, airports; // paths
    std::string set = "roxie";
    std::string check; // directory of expected answers
    std::string spill; // directory; empty: none
    std::string html;  // file; empty: none
    std::string device = "none";
    std::vector<std::string> queries;
    std::vector<limit_of_operator> operator_limits;
    std::size_t memory = std::size_t{16} << 20;
    std::size_t device_memory = std::size_t{4} << 20;
    std::size_t shown_rows = 5; // 0: all
    unsigned threads = 1;
    unsigned rounds = 1;
    unsigned tasks = 0;     // 0: one query after the other
    unsigned threshold = 0; // percent; 0: no executor
    bool json = false;
    bool describe = false;
    bool explain_memory = false;
    bool compact = false;

    bool asks_for(std::string_view query) const;
    /// The limit of an operator by the name of its account; SIZE_MAX: none.
    std::size_t operator_limit(std::string_view account) const;
};

/// Parses the command line. False: exit with `code`.
bool parse(int argc, char** argv, options& out, int& code);

} // namespace flights
