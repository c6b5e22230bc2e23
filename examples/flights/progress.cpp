#include "progress.hpp"
#include <chrono>
#include <cstdio>
#include <fmt/core.h>
#include <unistd.h>

namespace flights {

progress::progress(bool on) : terminal_(on && ::isatty(STDERR_FILENO) == 1) {}

void progress::begin(const std::string& title, std::uint64_t total) {
    end();
    title_ = title;
    total_ = total;
    drawn_ = {};
}

void progress::update(std::uint64_t done) {
    if (!terminal_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - drawn_ < std::chrono::milliseconds(50)) return;
    drawn_ = now;
    on_screen_ = true;
    if (total_ == 0) {
        fmt::print(stderr, "\r\033[K{}  {:.1f} MiB", title_, static_cast<double>(done) / 1048576.0);
    } else {
        constexpr std::uint64_t width = 30;
        const std::uint64_t share = done < total_ ? done * 100 / total_ : 100;
        fmt::print(stderr, "\r\033[K{}  [{:-<{}}] {} %", title_, std::string(share * width / 100, '#'), width, share);
    }
    std::fflush(stderr);
}

void progress::end() {
    if (!on_screen_) return;
    on_screen_ = false;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
}

} // namespace flights
