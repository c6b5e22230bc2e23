// The command line.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace tpch {

/// The exit codes of the program.
namespace exit_code {
inline constexpr int done = 0;
inline constexpr int failed = 1;         // an unexpected error
inline constexpr int usage = 2;          // the command line is wrong
inline constexpr int bad_input = 3;      // a table cannot be read; --spill cannot be used
inline constexpr int wrong_answer = 4;   // an answer is not the expected one, or the simulated device found hazards
inline constexpr int no_device = 5;      // --device: there is no such device, or one of its calls failed
inline constexpr int out_of_memory = 12; // the limit is too small: the report on stderr shows the holders of memory
} // namespace exit_code

struct options {
    std::string data;                  // folder of the tables
    std::string expected;              // file of the answers; empty: they are not checked
    std::vector<std::string> queries;  // in the order in which they begin
    std::string spill = "/tmp";        // "none": nothing leaves memory
    std::string oom = "state_machine"; // or "raise"
    std::size_t memory = std::size_t{32} << 20;
    std::string device = "none"; // where query 1 adds up
    std::size_t device_memory = std::size_t{64} << 20;
    unsigned tasks = 1; // queries at a time
    unsigned threads = 2;
    bool compare = false; // also alone, in memory for all
    bool json = false;
    bool quiet = false; // no line while it runs
};

/// Parses the command line. False: exit with `code`.
bool parse(int argc, char** argv, options& out, int& code);

} // namespace tpch
