#include "kept_answers.hpp"
#include <cstdint>
#include <nlohmann/json.hpp>

namespace flights {

using nlohmann::json;

std::vector<std::byte> pack(const answer& from) {
    struct {
        json operator()(std::monostate) const { return nullptr; }
        json operator()(std::int64_t n) const { return n; }
        json operator()(decimal d) const { return d.value; }
        json operator()(const std::string& s) const { return json::binary({s.begin(), s.end()}); } // any bytes
    } to_json;
    json rows = json::array();
    for (const auto& row : from.rows) {
        json line = json::array();
        for (const cell& c : row) line.push_back(std::visit(to_json, c));
        rows.push_back(std::move(line));
    }
    const auto bytes = json::to_msgpack({from.name, from.title, from.columns, std::move(rows)});
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
    return {first, first + bytes.size()};
}

static cell to_cell(const json& from) {
    if (from.is_null()) return {};
    if (from.is_number_float()) return decimal{from.get<double>()};
    if (from.is_number()) return from.get<std::int64_t>();
    const auto& bytes = from.get_binary();
    return std::string(bytes.begin(), bytes.end());
}

answer unpack(std::span<const std::byte> from) {
    const auto* const first = reinterpret_cast<const std::uint8_t*>(from.data());
    const json all = json::from_msgpack(first, first + from.size());
    answer out{all[0], all[1], all[2], {}};
    for (const json& line : all[3]) {
        auto& row = out.rows.emplace_back();
        for (const json& c : line) row.push_back(to_cell(c));
    }
    return out;
}

} // namespace flights
