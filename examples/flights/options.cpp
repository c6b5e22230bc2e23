#include "options.hpp"
#include "sets.hpp"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <thread>

namespace flights {

static const char* const about =
    "Reads flights and three lookup tables from CSV, keeps every row in a row manager under a memory limit,\n"
    "answers queries (group-by, hash join, sort), and tells where the memory went.\n";

static const char* const ends =
    "Exit codes: 0 done; 1 failed; 2 wrong command line; 3 a file cannot be read or is not such a table;\n"
    "4 an answer differs from --check, or what a device gives back is not what it got; 5 there is no such device;\n"
    "12 out of memory: the limit, an operator's, or the device's, is too small for the job.";

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
    std::size_t of_all = SIZE_MAX, own = SIZE_MAX; // one for this operator alone counts first, of each the last
    for (const limit_of_operator& l : operator_limits)
        if (l.name == account) own = l.bytes;
        else if (l.name == last_name(account)) of_all = l.bytes;
    return own != SIZE_MAX ? own : of_all;
}

/// Reads NAME=SIZE; returns what is wrong with it.
static std::string read_operator_limit(const std::string& text, limit_of_operator& out) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos) return text + ": not NAME=SIZE";
    out.name = text.substr(0, at);
    std::vector<std::string> names;
    for (const char* account : operator_names)
        for (const std::string_view name : {last_name(account), std::string_view{account}})
            if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
    if (std::find(names.begin(), names.end(), out.name) == names.end())
        return "no operator \"" + out.name + "\"; there are " + CLI::detail::join(names, ", ");
    std::string size = text.substr(at + 1);
    if (std::string wrong = CLI::AsSizeValue(false)(size); !wrong.empty()) return wrong;
    return CLI::detail::lexical_cast(size, out.bytes) ? "" : size + ": not a size";
}

bool parse(int argc, char** argv, options& out, int& code) {
    CLI::App app{about, "flights"};
    out.threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::string> set_names, queries{"all"}, devices(device_names.begin(), device_names.end());
    for (const set_entry& s : all_sets()) set_names.emplace_back(s.name);
    for (std::string_view q : query_names) queries.emplace_back(q);

    const auto one_of = [](const std::vector<std::string>& names) { return CLI::IsMember(names).description(""); };
    app.add_option("--memory", out.memory, "Limit of all that grows with the data: 500K, 64M, 2G (default 16M)")
        ->transform(CLI::AsSizeValue(false).description(""))
        ->type_name("SIZE");
    std::vector<std::string> operator_limits;
    app.add_option("--operator-limit", operator_limits,
                   "Limit of one operator, of what it holds at any time: join=256K, or of one query's only: "
                   "routes/join=256K. A query that is refused ends, the others go on. Repeatable")
        ->check(CLI::Validator(
            [](std::string& text) {
                limit_of_operator unused;
                return read_operator_limit(text, unused);
            },
            ""))
        ->allow_extra_args(false)
        ->type_name("NAME=SIZE");
    app.add_flag("--explain-memory", out.explain_memory,
                 "Tell who held the memory when most was held: the tree of accounts, by query, operator and table");
    app.add_option("--set", out.set, "Policies: " + CLI::detail::join(set_names) + " (default roxie)")
        ->check(one_of(set_names))
        ->type_name("SET");
    app.add_option("--threads", out.threads, "Threads that read and answer (default one a core)")
        ->check(CLI::Range(1u, 256u).description(""))
        ->type_name("N");
    app.add_option("--query", out.queries, "Queries to answer: " + CLI::detail::join(queries) + " (default all)")
        ->check(one_of(queries))
        ->type_name("NAME");
    app.add_option("--device", out.device,
                   "Where the flights' columns are kept meanwhile, too: " + CLI::detail::join(devices) +
                       " (default none)")
        ->check(one_of(devices))
        ->type_name("NAME");
    app.add_option("--device-memory", out.device_memory, "Limit of what is held of the device (default 4M)")
        ->transform(CLI::AsSizeValue(false).description(""))
        ->type_name("SIZE");
    app.add_option("--flights", out.flights, "CSV of flights (default the January of 2013)")->type_name("FILE");
    app.add_option("--airlines", out.airlines, "CSV of airlines")->type_name("FILE");
    app.add_option("--planes", out.planes, "CSV of planes")->type_name("FILE");
    app.add_option("--airports", out.airports, "CSV of airports")->type_name("FILE");
    app.add_option("--rows", out.shown_rows, "Rows shown of each answer, 0 for all (default 5)")->type_name("N");
    app.add_option("--check", out.check,
                   "Compare each answer with DIRECTORY/QUERY.csv (default, for our own files: with DuckDB's answers)")
        ->type_name("DIRECTORY");
    app.add_flag("--json", out.json, "Everything as one JSON object");
    app.add_flag("--describe", out.describe, "Tell the policies of the set, and do nothing else");
    app.footer(ends);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        code = app.exit(e) == 0 ? exit_code::done : exit_code::usage;
        return false;
    }
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
