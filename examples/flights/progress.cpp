#include "progress.hpp"
#include <fmt/core.h>

namespace flights {

void progress::begin(const std::string& title, std::uint64_t total) {
    end();
    title_ = title;
    total_ = total;
    drawn_ = {};
}

void progress::update(std::uint64_t done) {
    if (!line_.is_shown()) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - drawn_ < std::chrono::milliseconds(50)) return;
    drawn_ = now;
    if (total_ == 0) {
        line_.show(fmt::format("{}  {:.1f} MiB\n", title_, static_cast<double>(done) / 1048576.0));
    } else {
        constexpr std::uint64_t width = 30;
        const std::uint64_t share = done < total_ ? done * 100 / total_ : 100;
        line_.show(fmt::format("{}  [{:-<{}}] {} %\n", title_, std::string(share * width / 100, '#'), width, share));
    }
}

} // namespace flights
