// What the user sees: lines while queries run, then a table, or a line of JSON for each query.
#pragma once
#include "engine/query.hpp"
#include "outcome.hpp"
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tpch {

std::string table_of(const outcome& o);
std::string json_of(const outcome& o);

/// Shows a line for each query that runs: its tasks, and its memory; and one for all. On a terminal, ten times a
/// second.
class live_lines {
  public:
    explicit live_lines(engine& of, bool shown);
    ~live_lines();
    void begin(query& q, const char* name);
    void end(query& q);

  private:
    void draw(std::size_t& lines);

    struct one {
        query* of;
        const char* name;
        std::chrono::steady_clock::time_point began;
    };
    engine& engine_;
    std::mutex lock_;
    std::vector<one> all_;
    std::jthread draws_;
};

} // namespace tpch
