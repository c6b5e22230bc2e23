// The command line.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace tpch {

struct options {
    std::string data;                  // folder of the tables
    std::string expected;              // file of the answers; empty: they are not checked
    std::vector<std::string> queries;  // in the order in which they begin
    std::string spill = "/tmp";        // "none": nothing leaves memory
    std::string oom = "state_machine"; // or "raise"
    std::string trace, html, record;   // files; empty: none
    std::size_t memory = std::size_t{32} << 20;
    std::vector<std::string> beside; // further limits: SIZE, none, or 1/N of `memory`
    std::string device = "none";     // where query 1 adds up
    std::size_t device_memory = std::size_t{64} << 20;
    unsigned tasks = 1; // queries at a time
    unsigned threads = 2;
    bool compare = false; // also alone, in memory for all
    bool json = false;
    bool quiet = false; // no line while it runs
};

/// Bytes of a limit of `beside`.
std::size_t limit_of(const options& o, std::string name);
/// Bytes that are no limit for the queries.
inline std::size_t memory_for_all(const options& o) { return std::max(o.memory, std::size_t{4} << 30); }

/// Parses the command line. False: exit with `code`.
bool parse(int argc, char** argv, options& out, int& code);

} // namespace tpch
