#include "report.hpp"
#include "../shared/text_table.hpp"
#include <fmt/format.h>

namespace tpch {

using shared::bytes, shared::grouped;

std::string table_of(const outcome& o) {
    shared::text_table table(
        {"query", "seconds", "alone", "ratio", "peak", "spilled", "waits", "asleep", "rolled back", "split", "answer"});
    table.left(0), table.left(10);
    for (const query_outcome& q : o.queries) {
        const bool compared = q.alone > 0 && q.error.empty();
        table.add({q.name, fmt::format("{:.3f}", q.seconds), compared ? fmt::format("{:.3f}", q.alone) : "-",
                   compared ? fmt::format("{:.1f}", q.seconds / q.alone) : "-", bytes(q.peak), bytes(q.spilled),
                   grouped(q.task.waits), fmt::format("{:.2f}", static_cast<double>(q.task.blocked_ns) / 1e9),
                   grouped(q.task.rollbacks), grouped(q.task.splits),
                   q.out_of_memory    ? "out of memory"
                   : !q.error.empty() ? "failed"
                   : !q.checked       ? "not checked"
                   : q.right          ? "right"
                                      : "WRONG"});
    }
    std::string out = table.draw();
    out += fmt::format("\n{} queries in {:.2f} s, {:.2f} s of the processor; limit {}, charged at most {}\n",
                       o.queries.size(), o.seconds, o.processor_seconds, bytes(o.limit), bytes(o.charged));
    out += fmt::format("resident at most {}, beyond the {} of the start\n", bytes(o.resident), bytes(o.start));
    out += fmt::format("{} left memory: {} written, {} read; {} tasks began again\n", bytes(o.stored.bytes_left),
                       bytes(o.stored.bytes_written), bytes(o.stored.bytes_read), o.ran_out);
    if (const device_outcome& d = o.device; !d.name.empty())
        out += fmt::format("device {}: at most {} of {}, {} copied, {} hazards\n", d.name, bytes(d.peak),
                           bytes(d.limit), bytes(d.copied), d.hazards);
    return out;
}

std::string json_of(const outcome& o) {
    std::string out;
    for (const query_outcome& q : o.queries)
        out += nlohmann::json{{"query", q.name},
                              {"seconds", q.seconds},
                              {"alone", q.alone > 0 ? nlohmann::json(q.alone) : nullptr},
                              {"peak", q.peak},
                              {"spilled", q.spilled},
                              {"rollbacks", q.task.rollbacks},
                              {"splits", q.task.splits},
                              {"waits", q.task.waits},
                              {"error", q.error},
                              {"checked", q.checked},
                              {"right", q.checked ? nlohmann::json(q.right) : nullptr}}
                   .dump() +
               "\n";
    out += nlohmann::json{{"seconds", o.seconds},
                          {"processor_seconds", o.processor_seconds},
                          {"limit", o.limit},
                          {"charged", o.charged},
                          {"resident", o.resident},
                          {"start", o.start},
                          {"left", o.stored.bytes_left},
                          {"written", o.stored.bytes_written},
                          {"read", o.stored.bytes_read},
                          {"failures", o.stored.failures},
                          {"rollbacks", o.tasks.rollbacks},
                          {"splits", o.tasks.splits},
                          {"ran_out", o.ran_out},
                          {"device", o.device.name},
                          {"device_limit", o.device.limit},
                          {"device_peak", o.device.peak},
                          {"device_copied", o.device.copied},
                          {"hazards", o.device.hazards}}
               .dump() +
           "\n";
    return out;
}

} // namespace tpch
