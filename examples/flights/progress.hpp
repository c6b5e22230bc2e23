// A progress line on the terminal while files are read; nothing if stderr is not a terminal.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace flights {

class progress {
  public:
    explicit progress(bool on = true); // off: nothing is shown
    ~progress() { end(); }
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    void begin(const std::string& title, std::uint64_t total); // total 0: unknown
    void update(std::uint64_t done);                           // one caller at a time
    void end();                                                // clears the line

  private:
    std::string title_;
    std::uint64_t total_ = 0;
    std::chrono::steady_clock::time_point drawn_{};
    bool terminal_;
    bool on_screen_ = false;
};

} // namespace flights
