#include "options.hpp"
#include "../shared/options.hpp"
#include "queries/queries.hpp"

namespace tpch {

std::size_t limit_of(const options& o, std::string name) {
    if (name == "none") return memory_for_all(o);
    if (name.starts_with("1/")) return o.memory / std::stoul(name.substr(2));
    shared::read_size(name); // which parse() has checked
    return std::stoull(name);
}

namespace {

CLI::Validator another_limit() {
    return {[](std::string& text) {
                const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
                const std::string_view part = std::string_view(text).substr(std::min<std::size_t>(2, text.size()));
                std::string size = text;
                const bool is_part = text.starts_with("1/") && !part.empty() && part.size() < 4 && part[0] != '0' &&
                                     std::all_of(part.begin(), part.end(), is_digit);
                return text == "none" || is_part ? "" : shared::read_size(size);
            },
            ""};
}

} // namespace

bool parse(int argc, char** argv, options& out, int& code) {
    CLI::App app{"Queries of TPC-H in too little memory."};
    app.add_option("--data", out.data, "folder of the tables, in Parquet or .tbl files")->required();
    app.add_option("--expected", out.expected, "JSON file of the right answers")->check(shared::file_name());
    std::vector<std::string> names;
    for (const known_query& q : all_queries()) names.emplace_back(q.name);
    app.add_option("--query", out.queries, "queries, in the order in which they begin")
        ->delimiter(',')
        ->check(shared::one_of(names))
        ->default_val(names);
    app.add_option("--memory", out.memory, "bytes of all queries together: 500K, 32MiB, 25MB")
        ->transform(shared::size())
        ->type_name("SIZE")
        ->default_str("32MiB");
    app.add_option("--beside", out.beside,
                   "then the same with other limits, and one table of what each costs: none, 1/3 (of --memory), 16MiB")
        ->delimiter(',')
        ->check(another_limit())
        ->type_name("LIMIT,...");
    app.add_option("--tasks", out.tasks, "queries at a time")
        ->check(CLI::Range(1, 64))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--threads", out.threads, "threads that work for all queries")
        ->check(CLI::Range(1, 64))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--spill", out.spill, "folder for what leaves memory; none: nothing leaves")->capture_default_str();
    app.add_option("--oom", out.oom, "what happens without memory: tasks begin again, or the query ends")
        ->check(shared::one_of({"state_machine", "raise"}))
        ->capture_default_str();
    app.add_option("--device", out.device, "where query 1 adds up: none, simulated, cuda")
        ->check(shared::one_of({shared::device_names.begin(), shared::device_names.end()}))
        ->capture_default_str();
    app.add_option("--device-memory", out.device_memory, "bytes of the device for all queries together")
        ->transform(shared::size())
        ->type_name("SIZE")
        ->default_str("64MiB");
    app.add_option("--trace", out.trace,
                   "file that a viewer of traces opens: what each thread waited for, memory, bytes on the disk")
        ->check(shared::file_name())
        ->type_name("FILE");
    app.add_option("--html", out.html, "page for a browser: where the memory went, now, at the peak and over time")
        ->check(shared::file_name())
        ->type_name("FILE");
    app.add_option("--record", out.record, "file of what batches and readers allocate, for allot_replay")
        ->check(shared::file_name())
        ->type_name("FILE");
    app.add_flag("--compare", out.compare, "first run each query alone, in memory for all, and show both times");
    app.add_flag("--json", out.json, "one line of JSON for each query");
    app.add_flag("--quiet", out.quiet, "no lines while it runs");
    return shared::parse(app, argc, argv, code);
}

} // namespace tpch
