// The command line.
#pragma once
#include <array>
#include <cstddef>
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
    12; // the limit is too small: the out-of-memory page says who held the memory
} // namespace exit_code

inline constexpr std::array<std::string_view, 3> device_names{"none", "simulated", "cuda"};

inline constexpr std::array<std::string_view, 5> query_names{"carriers", "months", "routes", "delays",
                                                             "sorted"};

struct options {
    std::string flights, airlines, planes, airports; // paths
    std::string set = "roxie";
    std::string check; // directory of expected answers
    std::string device = "none";
    std::vector<std::string> queries;
    std::size_t memory = std::size_t{16} << 20;
    std::size_t device_memory = std::size_t{4} << 20;
    std::size_t shown_rows = 5; // 0: all
    unsigned threads = 1;
    bool json = false;
    bool describe = false;

    bool asks_for(std::string_view query) const;
};

/// Parses the command line. Returns false when the program should end at once with `code`.
bool parse(int argc, char** argv, options& out, int& code);

} // namespace flights
