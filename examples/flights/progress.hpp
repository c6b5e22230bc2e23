// A progress line on the terminal while files are read.
#pragma once
#include "../shared/live_text.hpp"
#include <chrono>
#include <cstdint>
#include <string>

namespace flights {

class progress {
  public:
    explicit progress(bool on = true) : line_(on) {} // off: nothing is shown

    void begin(const std::string& title, std::uint64_t total); // total 0: unknown
    void update(std::uint64_t done);                           // one caller at a time
    void end() { line_.show(""); }                             // clears the line

  private:
    shared::live_text line_;
    std::string title_;
    std::uint64_t total_ = 0;
    std::chrono::steady_clock::time_point drawn_{};
};

} // namespace flights
