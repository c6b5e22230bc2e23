// What the command lines of the example programs have in common.
#pragma once
#include "exit_code.hpp"
#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace shared {

inline constexpr std::array<std::string_view, 3> device_names{"none", "simulated", "cuda"};

/// Sizes: 500K and 500KiB are 500 x 1024 bytes, 500KB are 500,000; the same for M and G. 7.5M is one, too.
inline std::string read_size(std::string& text) {
    static const std::map<std::string, double> units{{"", 1},       {"b", 1},        {"k", 0x1p10},   {"kib", 0x1p10},
                                                     {"kb", 1e3},   {"m", 0x1p20},   {"mib", 0x1p20}, {"mb", 1e6},
                                                     {"g", 0x1p30}, {"gib", 0x1p30}, {"gb", 1e9}};
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto unit = units.find(CLI::detail::to_lower(CLI::detail::trim_copy(end)));
    const double bytes = unit != units.end() ? number * unit->second : -1;
    if (error != std::errc{} || !(bytes >= 0 && bytes < 0x1p63))
        return text + ": not a size below 8 EiB, as 500K, 32MiB or 7.5GB";
    text = std::to_string(static_cast<std::uint64_t>(bytes));
    return {};
}
inline CLI::Validator size() { return {&read_size, ""}; }
/// A file to read or write: "" names none, and would count as an option that was not given.
inline CLI::Validator file_name() {
    return {[](std::string& text) { return std::string(text.empty() ? "the name of a file is empty" : ""); }, ""};
}
/// One of these names.
inline CLI::Validator one_of(const std::vector<std::string>& names) { return CLI::IsMember(names).description(""); }

/// Parses the command line. False: exit with `code`.
inline bool parse(CLI::App& app, int argc, char** argv, int& code) {
    try {
        app.parse(argc, argv);
        return true;
    } catch (const CLI::ParseError& e) {
        code = app.exit(e) == 0 ? exit_code::done : exit_code::usage;
        return false;
    }
}

} // namespace shared
