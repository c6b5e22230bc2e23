// tpch: queries of TPC-H in too little memory, several at a time below one limit. `tpch --help` lists the options.
#include "engine/query.hpp"
#include "options.hpp"
#include "queries/queries.hpp"
#include "resident.hpp"
#include <allot/core/text.hpp>
#include <atomic>
#include <chrono>
#include <exception>
#include <fmt/core.h>
#include <fstream>
#include <sys/resource.h>
#include <thread>

namespace tpch {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point from) { return std::chrono::duration<double>(clock::now() - from).count(); }
double processor_seconds() {
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    const auto of = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
    return of(use.ru_utime) + of(use.ru_stime);
}

struct outcome {
    std::string name;
    nlohmann::json answer;
    std::string error, page; // why there is no answer; the report of an out_of_memory
    double seconds = 0;
    std::size_t peak = 0; // bytes charged to the query at most
    std::uint64_t rollbacks = 0, splits = 0;
    bool right = true, out_of_memory = false;
};

// The out_of_memory that is the cause of an error; its page.
void explain(const std::exception& e, outcome& o) {
    if (const auto* oom = dynamic_cast<const allot::out_of_memory*>(&e)) {
        o.out_of_memory = true;
        if (o.page.empty()) o.page = oom->report();
    }
    o.error += (o.error.empty() ? "" : ": ") + std::string(e.what());
    try {
        std::rethrow_if_nested(e);
    } catch (const std::exception& cause) {
        explain(cause, o);
    } catch (...) {
    }
}

outcome run_one(engine& in, const database& from, const known_query& which, std::size_t place,
                const nlohmann::json& expected) {
    outcome o;
    o.name = which.name;
    const auto began = clock::now();
    try {
        query q{in, from, which.name, static_cast<std::int64_t>(place)};
        o.answer = which.run(q);
        o.peak = q.tasks.memory().peak();
    } catch (const std::exception& e) {
        explain(e, o);
    }
    o.seconds = seconds_since(began);
    if (o.error.empty() && expected.contains(o.name)) {
        nlohmann::json right = expected[o.name];
        right.erase("columns");
        o.right = o.answer == right;
    }
    return o;
}

// Reads a row group, so that what Arrow keeps is there before the run begins.
void warm_up(engine& in, const database& from) {
    query q{in, from, "warm up"};
    const table& t = from["lineitem"];
    const auto columns = t.columns();
    allot::account by{q.tasks.memory(), allot::name{"reader"}};
    q.tasks.add({.name = "reader"}, [&] {
        allot::oom::with_retry_no_split([&] {
            chunk c{in.buffers, by, t.types(columns)};
            query_memory memory{q.readers};
            const auto reads = t.read(0, 0, t.rows_of(0), columns, memory);
            while (reads->next(c)) {
            }
        });
    });
    q.tasks.wait();
}

int run(const options& asked) {
    const database from{asked.data};
    nlohmann::json expected = nlohmann::json::object();
    if (!asked.expected.empty()) std::ifstream(asked.expected) >> expected;

    engine in{{.memory = asked.memory,
               .threads = asked.threads,
               .spill = asked.spill == "none" ? "" : asked.spill,
               .begins_again = asked.oom == "state_machine"}};
    warm_up(in, from);
    in.pool.trim();
    restart_peak();
    const std::size_t at_start = resident_bytes();
    const double processor = processor_seconds();
    const auto began = clock::now();

    std::vector<outcome> all(asked.queries.size());
    std::atomic<std::size_t> next{0};
    {
        std::vector<std::jthread> clients;
        for (unsigned c = 0; c != asked.tasks; ++c)
            clients.emplace_back([&] {
                for (std::size_t i; (i = next++) < all.size();)
                    for (const known_query& q : all_queries())
                        if (q.name == asked.queries[i]) all[i] = run_one(in, from, q, i, expected);
            });
    }
    const double seconds = seconds_since(began), used = processor_seconds() - processor;
    const std::size_t peak = peak_resident_bytes() - at_start;
    const allot::store_stats stored = in.data.stats();
    const auto tasks = in.tasks.stats();
    bool right = true, out_of_memory = false, failed = false;
    for (const outcome& o : all) {
        right = right && o.right, out_of_memory = out_of_memory || o.out_of_memory;
        failed = failed || !o.error.empty();
        if (asked.json)
            fmt::print("{}\n", nlohmann::json{{"query", o.name}, {"seconds", o.seconds}, {"peak", o.peak},
                                              {"error", o.error}, {"right", o.right}}.dump());
        else
            fmt::print("{:6} {:8.3f} s  peak {:7.1f} MiB  {}\n", o.name, o.seconds, double(o.peak) / (1 << 20),
                       !o.error.empty() ? o.error : o.right ? "right" : "WRONG " + o.answer.dump());
        if (o.out_of_memory) fmt::print(stderr, "{}\n", o.page);
    }
    const nlohmann::json whole{{"seconds", seconds}, {"processor_seconds", used}, {"limit", asked.memory},
                               {"resident", peak}, {"start", at_start}, {"written", stored.bytes_written}, {"read", stored.bytes_read},
                               {"left", stored.bytes_left}, {"rollbacks", tasks.rollbacks}, {"splits", tasks.splits},
                               {"ran_out", in.run.stats().ran_out}, {"failures", stored.failures}};
    fmt::print("{}\n", whole.dump());
    if (!right) return exit_code::wrong_answer;
    if (out_of_memory) return exit_code::out_of_memory;
    return failed ? exit_code::failed : exit_code::done;
}

} // namespace
} // namespace tpch

int main(int argc, char** argv) {
    tpch::options asked;
    int code = tpch::exit_code::done;
    try {
        return tpch::parse(argc, argv, asked, code) ? tpch::run(asked) : code;
    } catch (const allot::out_of_memory& e) {
        fmt::print(stderr, "{}\n", e.report());
        return tpch::exit_code::out_of_memory;
    } catch (const allot::spill_error& e) {
        fmt::print(stderr, "tpch: --spill: {}\n", e.what());
        return tpch::exit_code::bad_input;
    } catch (const std::exception& e) {
        fmt::print(stderr, "tpch: {}\n", e.what());
        return tpch::exit_code::failed;
    }
}
