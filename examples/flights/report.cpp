#include "report.hpp"
#include "../shared/text_table.hpp"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace flights {

namespace {

constexpr std::size_t widest_cell = 30;
constexpr std::size_t few_rows = 100; // heaps with fewer rows share one line

using shared::bytes, shared::grouped, shared::milliseconds, shared::text_table, shared::width;

/// The text of a cell: without line breaks, and cut to the widest cell.
std::string shortened(std::string text) {
    std::replace_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    if (width(text) <= widest_cell) return text;
    std::size_t end = widest_cell - 2;
    while (end != 0 && (text[end] & 0xC0) == 0x80) --end;
    return text.substr(0, end) + "..";
}

std::string draw(const answer& from, std::size_t limit) {
    text_table table(from.columns);
    const std::size_t shown = limit == 0 ? from.rows.size() : std::min(limit, from.rows.size());
    for (std::size_t r = 0; r != shown; ++r) {
        std::vector<std::string> line;
        for (std::size_t c = 0; c != from.rows[r].size(); ++c) {
            const cell& value = from.rows[r][c];
            if (std::holds_alternative<std::string>(value)) table.left(c);
            line.push_back(std::holds_alternative<std::monostate>(value) ? "-" : shortened(to_text(value)));
        }
        table.add(std::move(line));
    }
    std::string out = fmt::format("{}  [{}, {}]\n", from.title, from.name, milliseconds(from.seconds));
    out += table.draw("  ");
    if (shown != from.rows.size()) out += fmt::format("  .. {} more: --rows 0\n", from.rows.size() - shown);
    return out + '\n';
}

std::string draw(const memory_use& use, const memory_use& after) {
    text_table table({"table", "heap", "rows", "bytes per row", "overhead per row", "pages", "bytes"});
    table.left(0);
    table.left(1);
    heap_line few;
    std::size_t with_few = 0;
    for (const heap_line& heap : use.heaps) {
        if (heap.rows < few_rows) {
            few.rows += heap.rows;
            few.pages += heap.pages;
            few.bytes += heap.bytes;
            ++with_few;
        } else {
            table.add({heap.table, heap.type.empty() ? heap.heap + " of many types" : heap.heap, grouped(heap.rows),
                       grouped(heap.row_bytes), fmt::format("{:.1f}", heap.overhead), grouped(heap.pages),
                       bytes(heap.bytes)});
        }
    }
    if (with_few != 0)
        table.add({fmt::format("{} heaps with few rows", with_few), "", grouped(few.rows), "", "", grouped(few.pages),
                   bytes(few.bytes)});
    std::string out = fmt::format("Memory use at its highest measurement [{}]\n", use.when);
    out += table.draw("  ");
    out += fmt::format("  limit {}: charged {}, promised {}, committed {}, resident {}; peak {}\n", bytes(use.limit),
                       bytes(use.charged), bytes(use.promised), bytes(use.committed), bytes(use.resident),
                       bytes(after.peak));
    out += fmt::format("  afterwards: {} rows, charged {}\n", grouped(after.live_rows), bytes(after.charged));
    return out;
}

std::string draw(const device_outcome& from, std::size_t limit) {
    std::string out = fmt::format("On the device [{}], limit {}\n", from.device, bytes(limit));
    out += fmt::format("  {} columns of {} flights in {} chunks, on {} streams: {} copied to it, {} chunks "
                       "dropped to make room\n",
                       from.columns, grouped(from.rows), grouped(from.chunks), from.streams, bytes(from.copied),
                       grouped(from.dropped));
    out += fmt::format("  copied back on other streams: {} of {} columns unchanged; {} events, {} waits, "
                       "{} hazards\n",
                       from.equal_columns, from.columns, grouped(from.afterwards.events),
                       grouped(from.afterwards.waits), grouped(from.hazards));
    for (std::size_t at = 0, end = 0; (end = from.report.find('\n', at)) != std::string::npos; at = end + 1)
        out += "  " + from.report.substr(at, end - at + 1);
    out += fmt::format("  afterwards: {} blocks live, charged {}, peak {}\n\n", from.afterwards.live_blocks,
                       bytes(from.afterwards.charged), bytes(from.afterwards.peak));
    return out;
}

std::string draw(const std::vector<task_use>& tasks) {
    text_table table({"task", "query", "rollbacks", "splits", "blocked", "lost", "time", "peak"});
    table.left(1);
    std::size_t equal = 0;
    for (const task_use& t : tasks) {
        equal += t.equal ? 1 : 0;
        table.add({grouped(static_cast<std::uint64_t>(&t - tasks.data()) + 1), t.query, grouped(t.rollbacks),
                   grouped(t.splits), milliseconds(t.blocked), milliseconds(t.lost), milliseconds(t.seconds),
                   bytes(t.peak)});
    }
    return fmt::format("{} queries at once: {} of their answers equal those alone\n", grouped(tasks.size()),
                       grouped(equal)) +
           table.draw("  ") + '\n';
}

std::string draw(const std::vector<compacted_rows>& compacted) {
    text_table table({"rows of", "rows", "dropped", "moved", "pages before", "pages after", "bytes returned"});
    table.left(0);
    std::size_t before = 0, after = 0;
    for (const compacted_rows& t : compacted) {
        before += t.pages_before;
        after += t.pages_after;
        table.add({t.of, grouped(t.rows), grouped(t.dropped), grouped(t.moved), grouped(t.pages_before),
                   grouped(t.pages_after), bytes(t.bytes_returned)});
    }
    return fmt::format("Rows that are not needed any more were dropped, the others moved from {} pages into {}\n",
                       grouped(before), grouped(after)) +
           table.draw("  ") + '\n';
}

std::string draw(const outcome& from, const options& asked) {
    const bool spills = !asked.spill.empty();
    std::vector<std::string> head{"kept for later rounds", "cost",  "kept", "used again", "given up",
                                  "bytes freed",           "calls", "time"};
    if (spills) head.insert(head.end(), {"left", "bytes left", "came back"});
    text_table table(std::move(head));
    table.left(0);
    for (const kept_use& k : from.kept) {
        std::vector<std::string> line{k.what,           grouped(k.cost),        grouped(k.kept),
                                      grouped(k.again), grouped(k.given_up),    bytes(k.freed),
                                      grouped(k.calls), milliseconds(k.seconds)};
        if (spills) line.insert(line.end(), {grouped(k.store.left), bytes(k.store.bytes_left), grouped(k.store.read)});
        table.add(std::move(line));
    }
    std::string out = fmt::format("{} rounds, the files read in {} of them; when memory was short:\n",
                                  grouped(asked.rounds), grouped(from.readings)) +
                      table.draw("  ");
    const spill_use& s = from.spilled;
    if (spills)
        out += fmt::format("  in {}: {} written by {} calls, {} read by {} calls; at most {} on disk\n", asked.spill,
                           bytes(s.files.bytes_written), grouped(s.files.write_calls), bytes(s.files.bytes_read),
                           grouped(s.files.read_calls), bytes(s.peak));
    if (!s.last_failure.empty())
        out +=
            fmt::format("  {} failures, the last: {}\n", grouped(s.files.failures + s.files.damaged), s.last_failure);
    return out + '\n';
}

} // namespace

std::string bad_lines_of(const outcome& from) {
    std::string out;
    for (const file_read& file : from.files) {
        if (file.bad.count() == 0) continue;
        out += fmt::format("{}: {} bad line{} skipped\n", file.path, grouped(file.bad.count()),
                           file.bad.count() == 1 ? "" : "s");
        for (const csv::bad_line& bad : file.bad)
            out += fmt::format("  line {}: {}{}{}\n", bad.line, bad.column, bad.column.empty() ? "" : ": ",
                               csv::explain(bad.what));
        if (file.bad.count() > csv::bad_lines::kept) out += "  ..\n";
    }
    return out;
}

std::string page_for(const outcome& from, const options& asked) {
    std::uint64_t rows = 0, read = 0, kept = 0;
    for (const file_read& file : from.files) {
        rows += file.rows;
        read += file.bytes;
        kept += file.row_bytes;
    }
    std::string out = fmt::format("{} rows: {} of CSV", grouped(rows), bytes(read));
    if (from.tasks.empty())
        out += fmt::format(", {} as rows; read in {} on {} thread{}", bytes(kept), milliseconds(from.reading),
                           asked.threads, asked.threads == 1 ? "" : "s");
    out += fmt::format("; set {}, limit {}\n\n", asked.set, bytes(asked.memory));
    for (const answer& a : from.answers) out += draw(a, asked.shown_rows);
    for (const refusal& r : from.refused)
        out += fmt::format("No answer: {} is refused {}; it uses {} of {}\n\n", r.by, bytes(r.requested), bytes(r.used),
                           bytes(r.limit));
    if (!from.device.device.empty()) out += draw(from.device, asked.device_memory);
    if (!from.tasks.empty()) out += draw(from.tasks);
    if (!from.compacted.empty()) out += draw(from.compacted);
    if (!from.kept.empty()) out += draw(from, asked);
    out += draw(from.fullest, from.afterwards);
    out += fmt::format("  peak resident of the process: {} beyond its start; limit {}\n", bytes(from.peak_resident),
                       bytes(from.fullest.limit));
    if (!from.accounts.empty()) out += "\nMemory by account: " + from.accounts;
    return out;
}

} // namespace flights
