#include "options.hpp"
#include "../shared/options.hpp"
#include "sets.hpp"
#include <algorithm>
#include <filesystem>
#include <thread>

namespace flights {

static const char* const about =
    "Reads flights and three lookup tables from CSV files, keeps all rows in row managers under a memory limit,\n"
    "answers queries (group-by, hash join, sort), and reports its memory use.\n";

static const char* const ends =
    "Exit codes: 0 success; 1 unexpected error, or --html cannot be written; 2 wrong command line; 3 a file cannot be "
    "read, or is not the expected\n"
    "table, or --spill has no file; 4 an answer differs from --check, or of a task from that alone, or data copied "
    "back from the device "
    "differ; 5 no such device;\n"
    "12 out of memory: --memory, --operator-limit or --device-memory is too small.";

bool options::asks_for(std::string_view query) const {
    const auto named = [&](std::string_view name) {
        return std::find(queries.begin(), queries.end(), name) != queries.end();
    };
    return queries.empty() || named("all") || named(query);
}

static std::string_view last_name(std::string_view account) { return account.substr(account.find('/') + 1); }

const char* operator_named(std::string_view query, std::string_view name) {
    return *std::find_if(operator_names.begin(), operator_names.end(), [&](std::string_view o) {
        return o.size() == query.size() + 1 + name.size() && o.starts_with(query) && o.ends_with(name);
    });
}

std::size_t options::operator_limit(std::string_view account) const {
    std::size_t of_all = SIZE_MAX, own = SIZE_MAX; // QUERY/NAME overrides NAME; the last one of each counts
    for (const limit_of_operator& l : operator_limits)
        if (l.name == account) own = l.bytes;
        else if (l.name == last_name(account)) of_all = l.bytes;
    return own != SIZE_MAX ? own : of_all;
}

/// Parses NAME=SIZE; returns the error, or an empty text.
static std::string read_operator_limit(const std::string& text, limit_of_operator& out) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos) return text + ": not NAME=SIZE";
    out.name = text.substr(0, at);
    std::vector<std::string> names;
    for (const char* account : operator_names)
        for (const std::string_view name : {last_name(account), std::string_view{account}})
            if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
    if (std::find(names.begin(), names.end(), out.name) == names.end())
        return "no operator \"" + out.name + "\"; use one of " + CLI::detail::join(names, ", ");
    std::string size = text.substr(at + 1);
    if (std::string wrong = shared::read_size(size); !wrong.empty()) return wrong;
    return CLI::detail::lexical_cast(size, out.bytes) ? "" : size + ": not a size";
}

bool parse(int argc, char** argv, options& out, int& code) {
    CLI::App app{about, "flights"};
    out.threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::string> set_names, queries{"all"},
        devices(shared::device_names.begin(), shared::device_names.end());
    for (const set_entry& s : all_sets()) set_names.emplace_back(s.name);
    for (std::string_view q : query_names) queries.emplace_back(q);

    app.add_option("--memory", out.memory,
                   "Memory limit of all rows, containers and buffers: 500K, 64M, 2G (default 16M)")
        ->transform(shared::size())
        ->type_name("SIZE");
    std::vector<std::string> operator_limits;
    app.add_option("--operator-limit", operator_limits,
                   "Memory limit of an operator: join=256K for the join of each query, routes/join=256K for one. "
                   "A query whose operator runs out of memory has no answer; the others continue. Repeatable")
        ->check(CLI::Validator(
            [](std::string& text) {
                limit_of_operator unused;
                return read_operator_limit(text, unused);
            },
            ""))
        ->allow_extra_args(false)
        ->type_name("NAME=SIZE");
    app.add_flag("--explain-memory", out.explain_memory,
                 "Show memory use at its peak as a tree of accounts: by query, operator and table");
    app.add_option("--html", out.html,
                   "Write a page for a browser: where the memory went, at its peak, over time, and after reading")
        ->check(shared::file_name())
        ->type_name("FILE");
    CLI::Option* const compact = app.add_flag(
        "--compact", out.compact,
        "Release rows that are not needed any more: after reading those that no asked query reads, after the "
        "sort of delays those that are not listed. Then move the others into fewer pages, and show the pages "
        "before and after. The answers are the same");
    app.add_option("--set", out.set, "Policy set: " + CLI::detail::join(set_names) + " (default roxie)")
        ->check(shared::one_of(set_names))
        ->type_name("SET");
    app.add_option("--threads", out.threads, "Threads that read files and answer queries (default: one per core)")
        ->check(CLI::Range(1u, 256u).description(""))
        ->type_name("N");
    app.add_option("--rounds", out.rounds,
                   "Read and answer N times. Pieces of the files and answers are kept for the next round, and given up "
                   "when memory is short")
        ->check(CLI::Range(1u, 1000u).description(""))
        ->type_name("N");
    app.add_option("--spill", out.spill,
                   "What is kept for the next round is not given up when memory is short: it leaves for a file in "
                   "DIRECTORY, and comes back when it is needed. The file has no name, and ends with the program")
        ->needs("--rounds")
        ->type_name("DIRECTORY");
    app.add_option("--tasks", out.tasks,
                   "Answer N queries at once, each on one thread, as tasks of an arbiter: with too little memory they "
                   "wait, begin again, or take a smaller share of the flights at a time. Compares the answers with "
                   "those of one query after the other")
        ->check(CLI::Range(1u, 1000u).description(""))
        ->excludes("--rounds")
        ->excludes(compact)
        ->type_name("N");
    app.add_option(
           "--threshold", out.threshold,
           "With --tasks: an executor starts a query, on one of --threads threads, where what it takes alone fits "
           "below PERCENT of the memory; one that runs out of memory begins again. A line each second says how "
           "far it is")
        ->check(CLI::Range(1u, 100u).description(""))
        ->needs("--tasks")
        ->type_name("PERCENT");
    app.add_option("--query", out.queries, "Queries to answer: " + CLI::detail::join(queries) + " (default all)")
        ->check(shared::one_of(queries))
        ->type_name("NAME");
    app.add_option("--device", out.device,
                   "Copy the number columns of the flights to a device as well: " + CLI::detail::join(devices) +
                       " (default none)")
        ->check(shared::one_of(devices))
        ->excludes("--tasks")
        ->type_name("NAME");
    app.add_option("--device-memory", out.device_memory, "Limit of device memory (default 4M)")
        ->transform(shared::size())
        ->type_name("SIZE");
    app.add_option("--flights", out.flights, "CSV of flights (default: January 2013)")->type_name("FILE");
    app.add_option("--airlines", out.airlines, "CSV of airlines")->type_name("FILE");
    app.add_option("--planes", out.planes, "CSV of planes")->type_name("FILE");
    app.add_option("--airports", out.airports, "CSV of airports")->type_name("FILE");
    app.add_option("--rows", out.shown_rows, "Rows to show of each answer, 0 for all (default 5)")->type_name("N");
    app.add_option(
           "--check", out.check,
           "Compare each answer with DIRECTORY/QUERY.csv (default, with the default CSV files: DuckDB's answers)")
        ->type_name("DIRECTORY");
    app.add_flag("--json", out.json, "Print all results as one JSON object");
    app.add_flag("--describe", out.describe, "Print the policies of the set, and exit");
    app.footer(ends);

    if (!shared::parse(app, argc, argv, code)) return false;
    for (const std::string& text : operator_limits)
        static_cast<void>(read_operator_limit(text, out.operator_limits.emplace_back()));
    const bool own_files = (out.flights + out.airlines + out.planes + out.airports).empty();
    if (own_files && out.check.empty() && std::filesystem::is_directory(FLIGHTS_EXPECTED_DIR))
        out.check = FLIGHTS_EXPECTED_DIR;
    const auto fallback = [](std::string& path, const char* own) {
        if (path.empty()) path = own;
    };
    fallback(out.flights, FLIGHTS_DATA_DIR "/flights_2013_01.csv");
    fallback(out.airlines, FLIGHTS_DATA_DIR "/airlines.csv");
    fallback(out.planes, FLIGHTS_DATA_DIR "/planes.csv");
    fallback(out.airports, FLIGHTS_DATA_DIR "/airports.csv");
    return true;
}

} // namespace flights
