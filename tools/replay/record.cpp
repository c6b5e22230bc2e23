// allot_record: makes the recordings in recordings/. `allot_record --help`.
#include "record.hpp"

#include <shared/options.hpp>

#include <cstring>
#include <exception>
#include <fmt/core.h>
#include <string>

namespace record {
namespace {

namespace exit_code = shared::exit_code;

struct options {
    std::string folder, file;
    int rows = 0;
    bool is_flights = false;
};

bool parse(int argc, char** argv, options& out, int& code) {
    CLI::App app{"Records what a program allocates, for allot_replay."};
    app.require_subcommand(1);
    CLI::App* const flights = app.add_subcommand("flights", "two threads read, group and join tables of flights");
    flights->add_option("folder", out.folder, "of the tables: examples/data")
        ->required()
        ->check(CLI::ExistingDirectory.description(""))
        ->option_text("FOLDER");
    CLI::App* const sqlite = app.add_subcommand("sqlite", "an in-memory database of SQLite");
    sqlite->add_option("rows", out.rows, "of the database, 1 to 1,000,000; each takes some 450 bytes")
        ->required()
        ->check(CLI::Range(1, 1'000'000))
        ->option_text("ROWS");
    for (CLI::App* const command : {flights, sqlite})
        command->add_option("file", out.file, "is replaced by the recording")->required()->option_text("FILE");
    app.footer(
        "exit codes: 0 done; 1 the program failed, or the recording could not be written; 2 a wrong command line");
    const bool is_good = shared::parse(app, argc, argv, code);
    out.is_flights = flights->parsed();
    return is_good;
}

int fail(const std::string& file, const std::string& what) {
    fmt::print(stderr, "allot_record: {}: {}\n", file, what);
    return exit_code::failed;
}

int run(const options& o) {
    allot::recording to{o.file.c_str()};
    if (to.error() != 0) return fail(o.file, std::strerror(to.close()));
    try {
        if (o.is_flights) flights_rows(to, o.folder);
        else sqlite(to, o.rows);
    } catch (const std::exception& e) {
        static_cast<void>(to.close());
        return fail(o.file, fmt::format("it is no whole recording, since the program failed: {}", e.what()));
    }
    const int error = to.close();
    return error != 0 ? fail(o.file, std::strerror(error)) : exit_code::done;
}

} // namespace
} // namespace record

int main(int argc, char** argv) {
    record::options asked;
    int code = 0;
    return record::parse(argc, argv, asked, code) ? record::run(asked) : code;
}
