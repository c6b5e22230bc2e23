// Tables of text, and numbers in them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shared {

inline std::string grouped(std::uint64_t n) {
    std::string digits = fmt::to_string(n);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
    return digits;
}
inline std::string bytes(std::uint64_t n) {
    const double kib = static_cast<double>(n) / 1024;
    if (n < 10'240) return fmt::format("{} B", n);
    if (kib < 10'240) return fmt::format("{:.0f} KiB", kib);
    double scaled = kib / 1024;
    const char* unit = "MiB";
    for (const char* const larger : {"GiB", "TiB", "PiB"})
        if (scaled >= 10'240) scaled /= 1024, unit = larger;
    return fmt::format("{:.1f} {}", scaled, unit);
}
inline std::string milliseconds(double seconds) {
    return fmt::format("{:.{}f} ms", seconds * 1000, seconds < 0.01 ? 1 : 0);
}
/// The characters, not the bytes, of a UTF-8 text.
inline std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Columns of text, each as wide as its widest cell; numbers are aligned to the right.
class text_table {
  public:
    explicit text_table(std::vector<std::string> head) : right_(head.size(), true) {
        lines_.push_back(std::move(head));
    }

    void add(std::vector<std::string> line) { lines_.push_back(std::move(line)); }
    void left(std::size_t column) { right_[column] = false; }

    std::string draw(std::string_view indent = "") const {
        std::vector<std::size_t> widths(right_.size());
        for (const auto& line : lines_)
            for (std::size_t c = 0; c != line.size(); ++c) widths[c] = std::max(widths[c], width(line[c]));
        std::string out;
        for (const auto& line : lines_) {
            std::string drawn(indent);
            for (std::size_t c = 0; c != line.size(); ++c) {
                const std::string fill(widths[c] - width(line[c]), ' ');
                drawn += right_[c] ? fill + line[c] : line[c] + fill;
                drawn += "  ";
            }
            drawn.erase(drawn.find_last_not_of(' ') + 1);
            out += drawn + '\n';
        }
        return out;
    }

  private:
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> lines_;
};

} // namespace shared
