#include "report.hpp"
#include "../shared/text_table.hpp"
#include <fmt/format.h>

namespace tpch {

using shared::bytes, shared::grouped;

namespace {

const char* answer_of(const query_outcome& q) {
    return q.out_of_memory    ? "out of memory"
           : !q.error.empty() ? "failed"
           : !q.checked       ? "not checked"
           : q.right          ? "right"
                              : "WRONG";
}
// Why a number exceeds the limit, if it does.
const char* excess_of(const outcome& o, std::size_t n) {
    return n <= o.limit ? "" : o.account.lowered ? " (the limit was lowered)" : " (BEYOND THE LIMIT)";
}
std::string of_limit(const outcome& o, std::size_t n) {
    return fmt::format("{} of {}{}", bytes(n), bytes(o.limit), excess_of(o, n));
}
// Two numbers and their sum, each beside the limit.
std::string memory_of(const outcome& o) {
    return fmt::format("memory by the account: resident at most {}; promised to tasks {}, when both were {}{}\n",
                       of_limit(o, o.by_account), of_limit(o, o.promised), bytes(o.charged), excess_of(o, o.charged));
}
std::string device_of(const device_outcome& d) {
    if (d.name.empty()) return {};
    return fmt::format("device {}: at most {} of {}, {} copied, {} hazards\n", d.name, bytes(d.peak), bytes(d.limit),
                       bytes(d.copied), d.hazards);
}

} // namespace

std::string name_of(const outcome& o) { return o.name.empty() ? bytes(o.limit) : o.name; }

std::string table_of(const outcome& o) {
    shared::text_table table(
        {"query", "seconds", "alone", "ratio", "peak", "spilled", "waits", "asleep", "rolled back", "split", "answer"});
    table.left(0), table.left(10);
    for (const query_outcome& q : o.queries) {
        const bool compared = q.alone > 0 && q.error.empty();
        table.add({q.name, fmt::format("{:.3f}", q.seconds), compared ? fmt::format("{:.3f}", q.alone) : "-",
                   compared ? fmt::format("{:.1f}", q.seconds / q.alone) : "-", bytes(q.peak), bytes(q.spilled),
                   grouped(q.task.waits), fmt::format("{:.2f}", static_cast<double>(q.task.blocked_ns) / 1e9),
                   grouped(q.task.rollbacks), grouped(q.task.splits), answer_of(q)});
    }
    std::string out = table.draw();
    out += fmt::format("\n{} queries in {:.2f} s, {:.2f} s of the processor; limit {}\n", o.queries.size(), o.seconds,
                       o.processor_seconds, bytes(o.limit));
    out += memory_of(o);
    out += fmt::format("process: resident at most {}, beyond the {} of the start\n", bytes(o.resident), bytes(o.start));
    out += fmt::format("{} left memory: {} written, {} read; {} tasks began again\n", bytes(o.stored.bytes_left),
                       bytes(o.stored.bytes_written), bytes(o.stored.bytes_read), o.ran_out);
    return out + device_of(o.device);
}

std::string table_of(const std::vector<outcome>& with) {
    std::vector<std::string> head{"limit"}, seconds{"seconds"}, cpu{"seconds of processor"}, written{"written"},
        account{"resident, by the account"}, promised{"promised to tasks, at the peak"},
        process{"resident, beyond the start"};
    for (const outcome& o : with) {
        head.push_back(name_of(o));
        const bool ran = o.seconds > 0;
        seconds.push_back(ran ? fmt::format("{:.2f}", o.seconds) : "-");
        cpu.push_back(ran ? fmt::format("{:.2f}", o.processor_seconds) : "-");
        written.push_back(bytes(o.stored.bytes_written));
        account.push_back(bytes(o.by_account) + excess_of(o, o.by_account));
        promised.push_back(bytes(o.promised) + excess_of(o, o.promised));
        process.push_back(bytes(o.resident));
    }
    shared::text_table table(head);
    table.left(0);
    for (std::size_t i = 0; i != with[0].queries.size(); ++i) {
        std::vector<std::string> line{with[0].queries[i].name};
        for (const outcome& o : with) {
            const query_outcome& q = o.queries[i];
            line.push_back(!q.error.empty() ? answer_of(q)
                                            : fmt::format("{}, {:.2f} s{}", answer_of(q), q.seconds,
                                                          q.spilled != 0 ? ", " + bytes(q.spilled) + " spilled" : ""));
        }
        table.add(line);
    }
    for (const auto& line : {seconds, cpu, written, account, promised, process}) table.add(line);
    std::string out = table.draw();
    for (const outcome& o : with) out += device_of(o.device);
    return out;
}

std::string json_of(const outcome& o) {
    std::string out;
    for (const query_outcome& q : o.queries)
        out += nlohmann::json{{"kind", "query"},
                              {"query", q.name},
                              {"limit", o.limit},
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
    out += nlohmann::json{{"kind", "run"},
                          {"seconds", o.seconds},
                          {"processor_seconds", o.processor_seconds},
                          {"limit", o.limit},
                          {"charged", o.charged},
                          {"resident_by_account", o.by_account},
                          {"promised", o.promised},
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
