#include "report.hpp"
#include <cmath>
#include <nlohmann/json.hpp>

namespace flights {

using nlohmann::ordered_json;

static ordered_json to_json(const cell& from) {
    struct {
        ordered_json operator()(std::monostate) const { return nullptr; }
        ordered_json operator()(std::int64_t n) const { return n; }
        ordered_json operator()(decimal d) const { return std::round(d.value * 100) / 100; }
        ordered_json operator()(const std::string& s) const { return s; }
    } of_value;
    return std::visit(of_value, from);
}

static ordered_json to_json(const memory_use& use) {
    ordered_json heaps = ordered_json::array();
    for (const heap_line& h : use.heaps)
        heaps.push_back({{"table", h.table},
                         {"heap", h.heap},
                         {"row_type", h.type},
                         {"rows", h.rows},
                         {"row_bytes", h.row_bytes},
                         {"slot_bytes", h.slot_bytes},
                         {"overhead_per_row", h.overhead},
                         {"pages", h.pages},
                         {"bytes", h.bytes}});
    return {{"when", use.when},         {"limit", use.limit},         {"charged", use.charged},
            {"promised", use.promised}, {"committed", use.committed}, {"resident", use.resident},
            {"peak", use.peak},         {"live_rows", use.live_rows}, {"heaps", std::move(heaps)}};
}

static ordered_json to_json(const answer& from) {
    ordered_json rows = ordered_json::array();
    for (const auto& row : from.rows) {
        ordered_json line;
        for (std::size_t c = 0; c != row.size(); ++c) line[from.columns[c]] = to_json(row[c]);
        rows.push_back(std::move(line));
    }
    return {{"name", from.name}, {"title", from.title}, {"seconds", from.seconds}, {"rows", std::move(rows)}};
}

static ordered_json to_json(const file_read& from) {
    ordered_json bad = ordered_json::array();
    for (const csv::bad_line& line : from.bad)
        bad.push_back({{"line", line.line}, {"column", line.column}, {"reason", csv::explain(line.what)}});
    return {{"path", from.path},           {"bytes", from.bytes},           {"rows", from.rows},
            {"row_bytes", from.row_bytes}, {"bad_lines", from.bad.count()}, {"first_bad_lines", std::move(bad)}};
}

static ordered_json to_json(const device_outcome& from) {
    return {{"device", from.device},
            {"columns", from.columns},
            {"equal_columns", from.equal_columns},
            {"rows", from.rows},
            {"chunks", from.chunks},
            {"streams", from.streams},
            {"copied", from.copied},
            {"dropped", from.dropped},
            {"hazards", from.hazards},
            {"live_blocks_afterwards", from.afterwards.live_blocks},
            {"fullest", ordered_json::parse(from.report_json)}};
}

std::string json_for(const outcome& from, const options& asked) {
    ordered_json files = ordered_json::array(), answers = ordered_json::array();
    for (const file_read& file : from.files) files.push_back(to_json(file));
    for (const answer& a : from.answers) answers.push_back(to_json(a));
    ordered_json all{{"set", asked.set},
                     {"threads", asked.threads},
                     {"reading_seconds", from.reading},
                     {"files", std::move(files)},
                     {"answers", std::move(answers)},
                     {"fullest", to_json(from.fullest)},
                     {"afterwards", to_json(from.afterwards)},
                     {"peak_resident", from.peak_resident}};
    for (const refusal& r : from.refused)
        all["refused"].push_back(
            {{"operator", r.by}, {"requested", r.requested}, {"used", r.used}, {"limit", r.limit}});
    if (!from.accounts_json.empty()) all["accounts_at_peak"] = ordered_json::parse(from.accounts_json);
    if (!from.kept.empty()) all["rounds"] = {{"rounds", asked.rounds}, {"readings", from.readings}};
    const bool spills = !from.kept.empty() && !asked.spill.empty();
    for (const kept_use& k : from.kept) {
        ordered_json kept{{"what", k.what},   {"cost", k.cost},         {"kept", k.kept},
                          {"again", k.again}, {"given_up", k.given_up}, {"bytes", k.bytes},
                          {"calls", k.calls}, {"freed", k.freed},       {"seconds", k.seconds}};
        if (spills)
            kept.update({{"left", k.store.left},
                         {"bytes_left", k.store.bytes_left},
                         {"came_back", k.store.read},
                         {"written", k.store.written}});
        all["rounds"]["kept"].push_back(std::move(kept));
    }
    if (const allot::spill_file_stats& s = from.spilled.files; spills)
        all["rounds"]["spill"] = {{"directory", asked.spill},     {"bytes_written", s.bytes_written},
                                  {"write_calls", s.write_calls}, {"bytes_read", s.bytes_read},
                                  {"read_calls", s.read_calls},   {"failures", s.failures + s.damaged},
                                  {"peak", from.spilled.peak},    {"last_failure", from.spilled.last_failure}};
    for (const compacted_rows& t : from.compacted)
        all["compacted"].push_back({{"of", t.of},
                                    {"rows", t.rows},
                                    {"dropped", t.dropped},
                                    {"moved", t.moved},
                                    {"pages_before", t.pages_before},
                                    {"pages_after", t.pages_after},
                                    {"bytes_returned", t.bytes_returned}});
    for (const task_use& t : from.tasks)
        all["tasks"].push_back({{"query", t.query},
                                {"equal", t.equal},
                                {"rollbacks", t.rollbacks},
                                {"splits", t.splits},
                                {"blocked_seconds", t.blocked},
                                {"lost_seconds", t.lost},
                                {"seconds", t.seconds},
                                {"peak", t.peak}});
    if (!from.device.device.empty()) all["device"] = to_json(from.device);
    // Text that is not UTF-8 is written with replacement characters.
    return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

} // namespace flights
