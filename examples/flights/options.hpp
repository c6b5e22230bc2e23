// The command line.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flights {

/// What the program returns to the shell.
namespace exit_code {
inline constexpr int done = 0;
inline constexpr int failed = 1;       // something that should not happen
inline constexpr int usage = 2;        // the command line is wrong
inline constexpr int bad_input = 3;    // a file cannot be read, or is not such a table
inline constexpr int wrong_answer = 4; // --check found a difference, or the device did
inline constexpr int no_device = 5;    // --device: there is none, or it does not do what it is asked
inline constexpr int out_of_memory =
    12; // the limit is too small, or an operator's: the out-of-memory page says who held the memory
} // namespace exit_code

inline constexpr std::array<std::string_view, 3> device_names{"none", "simulated", "cuda"};

inline constexpr std::array<std::string_view, 5> query_names{"carriers", "months", "routes", "delays", "sorted"};

/// The operators of each query, by the names of their accounts.
inline constexpr std::array<const char*, 13> operator_names{
    "load/read",    "carriers/join", "carriers/group", "carriers/sort", "months/group", "months/sort", "routes/join",
    "routes/group", "routes/sort",   "delays/join",    "delays/sort",   "sorted/sort",  "device/copy"};

/// One of the list above, which it must be in.
const char* operator_named(std::string_view query, std::string_view name);

struct limit_of_operator {
    std::string name; // of all such operators, or of one: QUERY/NAME
    std::size_t bytes = 0;
};

struct options {
    std::string flights, airlines, planes, airports; // paths
    std::string set = "roxie";
    std::string check; // directory of expected answers
    std::string device = "none";
    std::vector<std::string> queries;
    std::vector<limit_of_operator> operator_limits;
    std::size_t memory = std::size_t{16} << 20;
    std::size_t device_memory = std::size_t{4} << 20;
    std::size_t shown_rows = 5; // 0: all
    unsigned threads = 1;
    bool json = false;
    bool describe = false;
    bool explain_memory = false;

    bool asks_for(std::string_view query) const;
    /// By its account's name; SIZE_MAX where none was given.
    std::size_t operator_limit(std::string_view account) const;
};

/// Parses the command line. Returns false when the program should end at once with `code`.
bool parse(int argc, char** argv, options& out, int& code);

} // namespace flights
