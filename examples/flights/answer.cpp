#include "answer.hpp"
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace flights {

cell date(int year, int month, int day) { return fmt::format("{:04}-{:02}-{:02}", year, month, day); }
cell checksum_text(std::uint64_t sum) { return fmt::format("{:016x}", sum); }

std::string to_text(const cell& from) {
    struct {
        std::string operator()(std::monostate) const { return {}; }
        std::string operator()(std::int64_t n) const { return fmt::to_string(n); }
        std::string operator()(decimal d) const { return fmt::format("{:.2f}", d.value); }
        std::string operator()(const std::string& s) const { return s; }
    } text;
    return std::visit(text, from);
}

static std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (char c : text) quoted.append(c == '"' ? 2 : 1, c);
    return quoted + '"';
}

std::string to_csv(const answer& from) {
    std::string out;
    auto line = [&](const auto& fields, auto text) {
        const char* before = "";
        for (const auto& field : fields) {
            out.append(before).append(csv_field(text(field)));
            before = ",";
        }
        out += '\n';
    };
    line(from.columns, [](const std::string& s) { return s; });
    for (const auto& row : from.rows) line(row, to_text);
    return out;
}

std::string difference(const answer& from, const std::string& directory) {
    const std::string path = directory + '/' + from.name + ".csv";
    std::ifstream file(path, std::ios::binary);
    if (!file) return path + ": cannot be read";
    std::istringstream ours(to_csv(from));
    for (std::size_t number = 1;; ++number) {
        std::string here, there;
        const bool more_here = static_cast<bool>(std::getline(ours, here));
        const bool more_there = static_cast<bool>(std::getline(file, there));
        if (!more_here && !more_there) return {};
        if (more_here != more_there || here != there)
            return fmt::format("{}:{}: expected \"{}\", got \"{}\"", path, number, there, here);
    }
}

} // namespace flights
