#include "report.hpp"
#include <algorithm>
#include <fmt/core.h>
#include <unistd.h>

namespace tpch {
namespace {

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

} // namespace

std::string table_of(const outcome& o) {
    std::string out = fmt::format("{:6} {:>8} {:>8} {:>6} {:>10} {:>6} {:>7} {:>7} {:>7}  {}\n", "query", "seconds",
                                  "alone", "ratio", "peak MiB", "waits", "asleep", "rolled", "split", "answer");
    for (const query_outcome& q : o.queries) {
        const bool compared = q.alone > 0 && q.error.empty();
        out += fmt::format("{:6} {:8.3f} {:>8} {:>6} {:10.1f} {:6} {:6.2f}s {:7} {:7}  {}\n", q.name, q.seconds,
                           compared ? fmt::format("{:.3f}", q.alone) : "-",
                           compared ? fmt::format("{:.1f}", q.seconds / q.alone) : "-", mib(q.peak), q.task.waits,
                           static_cast<double>(q.task.blocked_ns) / 1e9, q.task.rollbacks, q.task.splits,
                           !q.error.empty() ? q.error
                           : !q.checked     ? "not checked"
                           : q.right        ? "right"
                                            : "WRONG");
    }
    out += fmt::format("\n{} queries in {:.2f} s, {:.2f} s of the processor, below {:.1f} MiB\n", o.queries.size(),
                       o.seconds, o.processor_seconds, mib(o.limit));
    out +=
        fmt::format("resident at most {:.1f} MiB, beyond the {:.1f} MiB of the start\n", mib(o.resident), mib(o.start));
    out += fmt::format("{:.1f} MiB left memory: {:.1f} MiB written, {:.1f} MiB read; {} tasks began again\n",
                       mib(o.stored.bytes_left), mib(o.stored.bytes_written), mib(o.stored.bytes_read), o.ran_out);
    if (const device_outcome& d = o.device; !d.name.empty())
        out += fmt::format("device {}: at most {:.2f} of {:.2f} MiB, {:.1f} MiB copied, {} hazards\n", d.name,
                           mib(d.peak), mib(d.limit), mib(d.copied), d.hazards);
    return out;
}

std::string json_of(const outcome& o) {
    std::string out;
    for (const query_outcome& q : o.queries)
        out += nlohmann::json{{"query", q.name},
                              {"seconds", q.seconds},
                              {"alone", q.alone},
                              {"peak", q.peak},
                              {"rollbacks", q.task.rollbacks},
                              {"splits", q.task.splits},
                              {"waits", q.task.waits},
                              {"error", q.error},
                              {"checked", q.checked},
                              {"right", q.right}}
                   .dump() +
               "\n";
    out += nlohmann::json{{"seconds", o.seconds},
                          {"processor_seconds", o.processor_seconds},
                          {"limit", o.limit},
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

live_lines::live_lines(engine& of, bool shown) : engine_(of) {
    if (!shown || ::isatty(STDERR_FILENO) != 1) return;
    draws_ = std::jthread([this](const std::stop_token& end) {
        std::size_t lines = 0;
        while (!end.stop_requested()) {
            draw(lines);
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        if (lines != 0) fmt::print(stderr, "\033[{}A\033[J", lines);
    });
}
live_lines::~live_lines() = default; // stops the thread

void live_lines::begin(query& q, const char* name) {
    const std::lock_guard hold(lock_);
    all_.push_back({&q, name, std::chrono::steady_clock::now()});
}
void live_lines::end(query& q) {
    const std::lock_guard hold(lock_);
    std::erase_if(all_, [&](const one& o) { return o.of == &q; });
}
void live_lines::draw(std::size_t& lines) {
    const std::lock_guard hold(lock_);
    std::string out;
    if (lines != 0) out = fmt::format("\033[{}A\033[J", lines);
    const auto now = std::chrono::steady_clock::now();
    for (const one& o : all_) {
        const allot::oom::task_stats t = o.of->tasks.task().stats();
        out += fmt::format("{:6} {:6.1f} s  {:8.1f} MiB held, {:3} waits, {:3} rolled back, {:3} split\n", o.name,
                           std::chrono::duration<double>(now - o.began).count(), mib(o.of->tasks.memory().used()),
                           t.waits, t.rollbacks, t.splits);
    }
    const allot::executor_stats run = engine_.run.stats();
    const allot::store_stats stored = engine_.data.stats();
    out += fmt::format("memory {:.1f} of {:.1f} MiB; {} tasks run, {} wait; {:.1f} MiB on the disk, {:.1f} written\n",
                       mib(engine_.memory.used()), mib(engine_.memory.limit()), run.running, run.waiting,
                       mib(engine_.disk.used()), mib(stored.bytes_written));
    lines = all_.size() + 1;
    fmt::print(stderr, "{}", out);
}

} // namespace tpch
