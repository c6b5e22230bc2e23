// allot_replay: replays a recording against sets, and says which to take. `allot_replay --help`; docs/replay.md.
#include "process.hpp"
#include "ranking.hpp"
#include "sequence.hpp"

#include <shared/exit_code.hpp>
#include <shared/options.hpp>
#include <shared/output.hpp>
#include <shared/text_table.hpp>

#include <algorithm>
#include <exception>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace replay {
namespace {

namespace exit_code = shared::exit_code;

struct options {
    std::string file, threads = "recorded";
    std::vector<std::string> sets{"all"};
    std::size_t limit = SIZE_MAX;
    unsigned rounds = 5, seconds = 600;
    bool json = false, touches = true, warm = false, least = false;
};

bool parse(int argc, char** argv, options& out, int& code) {
    std::vector<std::string> names{"all"};
    for (const entry& e : all_sets()) names.emplace_back(e.name);
    CLI::App app{"Replays what a program allocated against sets of allot, and says which to take."};
    app.add_option("file", out.file, "file of allot::recording, or text; -: standard input")->required();
    app.add_option("--sets", out.sets, "sets to replay: all, or names")
        ->delimiter(',')
        ->check(shared::one_of(names))
        ->allow_extra_args(false) // a file may follow
        ->option_text("NAME,...=all");
    app.add_option("--threads", out.threads, "recorded: a thread for each that was recorded; one: all in one")
        ->check(shared::one_of({"recorded", "one"}))
        ->capture_default_str();
    app.add_option("--rounds", out.rounds, "how often each set is timed; from 3 on, sets within the spread are equal")
        ->check(CLI::Range(1, 1000))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--limit", out.limit, "bytes that each set may charge: 500K, 32MiB; malloc has no limit")
        ->transform(shared::size())
        ->type_name("SIZE");
    app.add_option("--seconds", out.seconds, "that one run of a set may take")
        ->check(CLI::Range(1, 86'400))
        ->type_name("N")
        ->capture_default_str();
    app.add_flag("--least", out.least, "charge each set at most what it needs: the least limit that refuses nothing");
    app.add_flag("--warm", out.warm, "time a second replay in the same process, whose memory is there");
    app.add_flag_callback("--no-touch", [&out] { out.touches = false; }, "do not write to the memory");
    app.add_flag("--json", out.json, "the figures as JSON");
    app.footer("sets: " +
               [&] {
                   std::string all;
                   for (const entry& e : all_sets())
                       all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", e.name, e.what);
                   return all;
               }() +
               "\nexit codes: 0 done; 1 a set's process failed, or the output could not be written; 2 a wrong option; "
               "3 the recording cannot be read, or is damaged");
    return shared::parse(app, argc, argv, code);
}

bool is_asked(const options& o, const sequence& t, const entry& e) {
    const auto has = [&](std::string_view name) {
        return std::find(o.sets.begin(), o.sets.end(), name) != o.sets.end();
    };
    return has(e.name) || (has("all") && (!e.is_on_device || t.has_streams()));
}

// The least limit at which a set refuses nothing, to 2 %; `bytes` is one.
std::size_t least_limit(const options& o, const sequence& t, std::size_t set, how h, std::size_t bytes) {
    std::size_t refuses = t.counts().peak - 1;
    while (refuses < bytes && bytes - refuses > std::max(bytes / 50, std::size_t{16} << 10)) {
        h.limit = refuses + (bytes - refuses) / 2;
        const auto f = run_in_process(t, set, h, o.seconds);
        (f && f->refused == 0 ? bytes : refuses) = h.limit;
    }
    return bytes;
}

// Each set once for its bytes, then all of them in rounds for their times.
std::vector<result> run_all(const options& o, const sequence& t) {
    std::vector<result> all;
    std::vector<std::size_t> which;
    how h{.in_threads = o.threads == "recorded", .touches = o.touches, .looks = true, .limit = o.limit};
    for (std::size_t i = 0; i != all_sets().size(); ++i) {
        const entry& e = all_sets()[i];
        if (!is_asked(o, t, e)) continue;
        result r;
        r.name = e.name, r.what = e.what, r.is_timed = !e.is_on_device, r.is_reference = e.is_reference;
        if (const auto f = run_in_process(t, i, h, o.seconds))
            r.peak = f->peak, r.resident = f->resident, r.refused = f->refused, r.left_out = f->left_out;
        else r.has_failed = true;
        if (o.least && r.is_candidate()) r.peak = least_limit(o, t, i, h, r.peak);
        all.push_back(std::move(r));
        which.push_back(i);
    }
    h.looks = false, h.is_warm = o.warm;
    for (unsigned round = 0; round != o.rounds; ++round)
        for (std::size_t k = 0; k != which.size(); ++k) {
            const std::size_t s = (k + round) % which.size(); // no set is always the first
            result& r = all[s];
            if (r.has_failed || !r.is_timed) continue;
            if (const auto f = run_in_process(t, which[s], h, o.seconds)) {
                r.seconds.push_back(f->seconds);
                r.refused_in_time = std::max(r.refused_in_time, f->refused);
                r.left_out = std::max(r.left_out, f->left_out);
            } else r.has_failed = true;
        }
    rank(all);
    return all;
}

std::string time_of(double seconds) {
    return seconds < 0.01 ? fmt::format("{:.3f}", 1000 * seconds) : fmt::format("{:.1f}", 1000 * seconds);
}
std::string counted(std::size_t n, std::string_view what) {
    return fmt::format("{} {}{}", shared::grouped(n), what, n == 1 ? "" : "s");
}
void print_table(const options& o, const sequence& t, const std::vector<result>& all) {
    const sequence_counts& c = t.counts();
    fmt::print("{}: {}, {}, {}; {}", o.file, counted(c.allocations, "allocation"), counted(c.resizes, "resize"),
               counted(c.deallocations, "deallocation"), counted(c.threads, "thread"));
    if (t.has_streams()) fmt::print(", {}", counted(c.streams, "stream"));
    fmt::print("\nasked for at the peak: {} ({}); live at the end: {}, {}\n\n", shared::bytes(c.peak),
               counted(c.peak, "byte"), counted(c.live, "allocation"), shared::bytes(c.live_bytes));
    shared::text_table table{{"set", "of", "time", "ms", "q1 to q3", "peak", o.least ? "least" : "charged", "payload",
                              "resident", "refused"}};
    table.left(0);
    table.left(1);
    for (const result& r : all) {
        const auto place = [](unsigned rank) { return rank != 0 ? fmt::format("{}.", rank) : std::string{"-"}; };
        if (r.has_failed) {
            table.add({std::string(r.name), std::string(r.what), "-", "its process failed"});
            continue;
        }
        table.add(
            {std::string(r.name), std::string(r.what), place(r.time_rank), r.is_timed ? time_of(r.time.median) : "-",
             r.is_timed && r.has_spread() ? time_of(r.time.q1) + " to " + time_of(r.time.q3) : "-", place(r.peak_rank),
             shared::bytes(r.peak), r.refused == 0 ? fmt::format("{:.1f} %", 100 * payload(r, c)) : "-",
             shared::bytes(r.resident), shared::grouped(r.refused)});
    }
    fmt::print("{}\n", table.draw());
    std::string late;
    for (const result& r : all)
        if (r.refused_in_time > r.refused)
            late += fmt::format("{}{} ({})", late.empty() ? "" : ", ", r.name, shared::grouped(r.refused_in_time));
    if (!late.empty())
        fmt::print(
            "While they were timed, these refused more, since threads out of the recorded order hold more: {}\n\n",
            late);
    fmt::print("{}\n", advice(all, c));
}
void print_json(const sequence& t, const std::vector<result>& all) {
    const sequence_counts& c = t.counts();
    nlohmann::ordered_json out{{"allocations", c.allocations},
                               {"resizes", c.resizes},
                               {"deallocations", c.deallocations},
                               {"threads", c.threads},
                               {"streams", c.streams},
                               {"peak", c.peak},
                               {"live", c.live},
                               {"live_bytes", c.live_bytes},
                               {"has_end", c.has_end},
                               {"sets", nlohmann::ordered_json::array()}};
    for (const result& r : all)
        out["sets"].push_back({{"name", r.name},
                               {"of", r.what},
                               {"failed", r.has_failed},
                               {"refused", r.refused},
                               {"left_out", r.left_out},
                               {"refused_in_time", r.refused_in_time},
                               {"seconds", r.seconds},
                               {"time_rank", r.time_rank},
                               {"charged", r.peak},
                               {"payload", payload(r, c)},
                               {"peak_rank", r.peak_rank},
                               {"resident", r.resident}});
    out["advice"] = advice(all, c);
    fmt::print("{}\n", out.dump(1));
}

int run(const options& o) {
    const sequence t = sequence::read(o.file);
    if (o.threads == "recorded" && t.counts().threads > 512)
        throw std::runtime_error(fmt::format("{} threads are too many: pass --threads one", t.counts().threads));
    if (!t.counts().has_end)
        fmt::print(stderr, "allot_replay: {}: there is no line \"end OPERATIONS\"; if a program wrote it, it is cut\n",
                   o.file);
#ifndef __OPTIMIZE__
    fmt::print(stderr, "allot_replay: built without optimization, so its times are none: configure with "
                       "-DCMAKE_BUILD_TYPE=Release\n");
#endif
    const std::vector<result> all = run_all(o, t);
    o.json ? print_json(t, all) : print_table(o, t, all);
    return std::any_of(all.begin(), all.end(), [](const result& r) { return r.has_failed; }) ? exit_code::failed
                                                                                             : exit_code::done;
}

} // namespace
} // namespace replay

int main(int argc, char** argv) {
    int code = 0;
    if (replay::is_run_in_process(argc, argv, code)) return code;
    replay::options asked;
    namespace exit_code = shared::exit_code;
    try {
        return shared::flushed("allot_replay", replay::parse(argc, argv, asked, code) ? replay::run(asked) : code);
    } catch (const std::exception& e) {
        fmt::print(stderr, "allot_replay: {}: {}\n", asked.file, e.what());
        return exit_code::bad_input;
    }
}
