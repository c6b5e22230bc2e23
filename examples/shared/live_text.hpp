// Lines at the end of a terminal, in place of those before; nothing where stderr is no terminal.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <fmt/core.h>
#include <string_view>
#include <unistd.h>

namespace shared {

/// Threads: one call at a time.
class live_text {
  public:
    explicit live_text(bool on) : shown_(on && ::isatty(STDERR_FILENO) == 1) {}
    ~live_text() { show(""); }
    live_text(const live_text&) = delete;
    live_text& operator=(const live_text&) = delete;

    bool is_shown() const { return shown_; }
    /// Each line ends with a line break. No text: what was shown is removed.
    void show(std::string_view text) {
        if (!shown_ || (text.empty() && lines_ == 0)) return;
        if (lines_ != 0) fmt::print(stderr, "\033[{}A\033[J", lines_);
        fmt::print(stderr, "{}", text);
        std::fflush(stderr);
        lines_ = std::count(text.begin(), text.end(), '\n');
    }

  private:
    const bool shown_;
    std::ptrdiff_t lines_ = 0;
};

} // namespace shared
