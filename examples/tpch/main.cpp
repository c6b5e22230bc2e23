// tpch: queries of TPC-H in too little memory, several at a time below one limit. `tpch --help` lists the options.
#include "../shared/device_error.hpp"
#include "../shared/exit_code.hpp"
#include "../shared/memory_page.hpp"
#include "../shared/output.hpp"
#include "../shared/resident.hpp"
#include "../shared/stopwatch.hpp"
#include "engine/query.hpp"
#include "live.hpp"
#include "options.hpp"
#include "outcome.hpp"
#include "queries/queries.hpp"
#include "report.hpp"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <fmt/core.h>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

namespace tpch {
namespace {

namespace exit_code = shared::exit_code;

double processor_seconds() {
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    const auto of = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return of(use.ru_utime) + of(use.ru_stime);
}
std::size_t peak_beyond(std::size_t start) {
    const std::size_t peak = shared::peak_resident_bytes();
    return peak > start ? peak - start : 0;
}

// The texts of an error and its causes; the page of the out_of_memory among them. Without one, what another
// memory_error says was refused.
void explain(const std::exception& e, query_outcome& o) {
    if (const auto* const oom = dynamic_cast<const allot::out_of_memory*>(&e)) {
        if (o.page.empty()) o.page = oom->report();
    }
    const auto* const refused = dynamic_cast<const allot::memory_error*>(&e);
    o.out_of_memory = o.out_of_memory || refused != nullptr;
    o.device_failed = o.device_failed || dynamic_cast<const shared::device_error*>(&e) != nullptr;
    const std::string text = e.what(); // an error of a task has the text of its cause
    if (o.error.find(text) == std::string::npos) o.error += (o.error.empty() ? "" : ": ") + text;
    try {
        std::rethrow_if_nested(e);
    } catch (const std::exception& cause) {
        explain(cause, o);
    } catch (...) {
        o.error += ": an error of another kind";
    }
    if (refused == nullptr || !o.page.empty()) return;
    char line[256];
    allot::text_writer page{line};
    write(page.put("out of memory: "), allot::refusal_of(refused->why()));
    o.page = std::string(page.newline().view());
}

query_outcome run_one(engine& in, const database& from, device_side* device, live& lines, const known_query& which,
                      std::size_t place, const nlohmann::json& expected) {
    query_outcome o;
    o.name = which.name;
    const shared::stopwatch began;
    try {
        query q{in, from, which.name, static_cast<std::int64_t>(place)};
        q.device = device;
        const live::shown_query shown{lines, q, which.name};
        try {
            o.answer = which.run(q);
        } catch (const std::exception& e) {
            explain(e, o);
        }
        o.peak = q.tasks.memory().peak(), o.spilled = q.tasks.memory().stats().spilled, o.task = q.tasks.task().stats();
    } catch (const std::exception& e) { // there is no memory for the query itself
        explain(e, o);
    }
    o.seconds = began.seconds();
    if (o.error.empty() && expected.contains(o.name)) {
        nlohmann::json right = expected[o.name];
        right.erase("columns");
        o.checked = true, o.right = o.answer == right;
    }
    return o;
}

// Reads some rows, so that what Arrow keeps is there before the run begins.
void warm_up(engine& in, const database& from) {
    query q{in, from, "warm up"};
    const table& t = from["lineitem"];
    allot::account by{q.tasks.memory(), allot::name{"reader"}};
    q.tasks.add({.name = "reader"}, [&] {
        in.attempt([&] {
            allot::oom::with_retry_no_split([&] {
                const auto columns = t.columns();
                chunk c{in.buffers, by, t.types(columns)};
                query_memory memory{q.blocks_of_readers()};
                const auto reads = t.read(0, 0, t.rows_of(0), columns, memory);
                while (reads->next(c)) {
                }
            });
        });
    });
    q.tasks.wait();
}

const known_query& query_named(const std::string& name) {
    const auto all = all_queries();
    return *std::find_if(all.begin(), all.end(), [&](const known_query& q) { return q.name == name; });
}

// What is written of a run; null: nothing.
struct watchers {
    trace* into = nullptr;
    shared::memory_page* page = nullptr;
    allot::recording* record = nullptr;
};

// All queries that are asked for, below this limit.
outcome run_all(const options& asked, const database& from, std::size_t limit, unsigned at_once,
                const nlohmann::json& expected, const watchers& watched = {}) {
    outcome out;
    shared::memory_page* const page = watched.page;
    std::vector<allot::account_line> at_peak(page != nullptr ? 1024 : 1); // one: the numbers of the root
    allot::account_peak fullest{at_peak};
    engine in{{.memory = limit,
               .threads = asked.threads,
               .spill = asked.spill == "none" ? "" : asked.spill,
               .begins_again = asked.oom == "state_machine",
               .log = page != nullptr           ? page->sink()
                      : watched.into != nullptr ? watched.into->sink()
                                                : allot::oom::log_sink{},
               .record = watched.record}};
    const auto device = open_device(asked.device, asked.device_memory, in);
    warm_up(in, from);
    in.pool.trim();
    shared::restart_peak();
    out.limit = limit, out.start = shared::resident_bytes();
    in.memory.keep_peak(&fullest);
    std::jthread samples;
    if (page != nullptr) samples = page->samples_of(in.memory);
    const double processor = processor_seconds();
    const shared::stopwatch began;
    out.queries.resize(asked.queries.size());
    std::atomic<std::size_t> next{0};
    {
        live lines{in, !asked.quiet && !asked.json, watched.into};
        std::vector<std::jthread> clients;
        for (unsigned c = 0; c != at_once; ++c)
            clients.emplace_back([&] {
                for (std::size_t i; (i = next++) < out.queries.size();)
                    out.queries[i] = run_one(in, from, device.get(), lines, query_named(asked.queries[i]), i, expected);
            });
    }
    out.seconds = began.seconds(), out.processor_seconds = processor_seconds() - processor;
    in.memory.keep_peak(nullptr);
    out.resident = peak_beyond(out.start), out.charged = in.memory.peak();
    out.by_account = fullest.charged(), out.promised = fullest.promised(), out.account = in.memory.stats();
    if (device != nullptr) out.device = device->outcome();
    out.stored = in.data.stats(), out.tasks = in.tasks.stats(), out.ran_out = in.run.stats().ran_out;
    if (page != nullptr) {
        samples = {};
        page->show_samples(in.memory);
        page->page().peak(fullest).accounts(in.memory).accounts(in.disk).chunks(in.pool);
        for (const query_outcome& q : out.queries)
            if (!q.page.empty()) page->page().out_of_memory(q.page);
    }
    return out;
}

// The same below another limit. Without memory to begin with, each query fails.
outcome run_beside(const options& asked, const database& from, const std::string& limit,
                   const nlohmann::json& expected) {
    outcome out;
    out.limit = limit_of(asked, limit);
    try {
        out = run_all(asked, from, out.limit, asked.tasks, expected);
    } catch (const std::exception& e) {
        query_outcome o;
        explain(e, o);
        if (!o.out_of_memory) throw;
        for (const std::string& name : asked.queries) {
            out.queries.push_back(o), out.queries.back().name = name;
            o.page.clear(); // once
        }
    }
    if (limit == "none") out.name = "no limit";
    return out;
}

int run(const options& asked) {
    const database from{asked.data};
    nlohmann::json expected = nlohmann::json::object();
    if (!asked.expected.empty()) {
        std::ifstream file(asked.expected);
        if (!file) throw std::runtime_error("there is no file " + asked.expected);
        expected = nlohmann::json::parse(file, nullptr, false);
        for (const std::string& name : asked.queries)
            if (!expected.is_object() || !expected.contains(name) || !expected[name].is_object())
                throw std::runtime_error(asked.expected + ": no JSON object with the answer of " + name);
    }
    outcome alone;
    if (asked.compare) // one after the other, in memory for all
        alone = run_all(asked, from, memory_for_all(asked), 1, nlohmann::json::object());
    std::optional<trace> written;
    if (!asked.trace.empty()) written.emplace(asked.trace);
    std::optional<shared::memory_page> page;
    if (!asked.html.empty()) page.emplace(asked.html, "tpch", written ? written->sink() : allot::oom::log_sink{});
    std::optional<allot::recording> record;
    if (!asked.record.empty()) record.emplace(asked.record.c_str());
    outcome out;
    try {
        out = run_all(asked, from, asked.memory, asked.tasks, expected,
                      {written ? &*written : nullptr, page ? &*page : nullptr, record ? &*record : nullptr});
    } catch (const std::exception& e) { // there is no memory to begin with
        query_outcome o;
        explain(e, o);
        if (page && !o.page.empty()) page->page().out_of_memory(o.page);
        if (page) page->finish("tpch", exit_code::failed); // what there is; the code is that of the exception
        throw;
    }
    if (written) written->finish();
    if (const int error = record ? record->close() : 0; error != 0)
        throw std::runtime_error("--record: " + asked.record + ": " + std::strerror(error));
    out.device.hazards += alone.device.hazards;
    for (std::size_t i = 0; i != alone.queries.size(); ++i) out.queries[i].alone = alone.queries[i].seconds;
    std::vector<outcome> all;
    all.push_back(std::move(out));
    for (const std::string& limit : asked.beside) all.push_back(run_beside(asked, from, limit, expected));
    if (asked.json)
        for (const outcome& o : all) fmt::print("{}", json_of(o));
    else fmt::print("{}", all.size() == 1 ? table_of(all[0]) : table_of(all));
    bool failed = false, out_of_memory = false, device_failed = false, right = true;
    for (const outcome& o : all) {
        right = right && o.device.hazards == 0;
        for (const query_outcome& q : o.queries) {
            device_failed = device_failed || q.device_failed;
            failed = failed || !q.error.empty(), out_of_memory = out_of_memory || q.out_of_memory;
            right = right && q.right;
            if (!q.error.empty())
                fmt::print(stderr, "\n{}{}: {}\n{}", q.name, all.size() == 1 ? "" : ", " + name_of(o), q.error, q.page);
        }
    }
    const int code = !right          ? exit_code::wrong_answer
                     : out_of_memory ? exit_code::out_of_memory
                     : device_failed ? exit_code::no_device
                     : failed        ? exit_code::failed
                                     : exit_code::done;
    return page ? page->finish("tpch", code) : code;
}

} // namespace
} // namespace tpch

int main(int argc, char** argv) {
    tpch::options asked;
    namespace exit_code = shared::exit_code;
    int code = exit_code::done;
    try {
        return shared::flushed("tpch", tpch::parse(argc, argv, asked, code) ? tpch::run(asked) : code);
    } catch (const allot::out_of_memory& e) {
        fmt::print(stderr, "tpch: {}\n{}\n", e.what(), e.report());
        return exit_code::out_of_memory;
    } catch (const shared::device_error& e) {
        fmt::print(stderr, "tpch: --device {}: {}\n", asked.device, e.what());
        return exit_code::no_device;
    } catch (const shared::output_error& e) {
        fmt::print(stderr, "tpch: {}\n", e.what());
        return exit_code::failed;
    } catch (const allot::spill_error& e) {
        fmt::print(stderr, "tpch: --spill: {}\n", e.what());
        return exit_code::bad_input;
    } catch (const std::exception& e) {
        tpch::query_outcome o;
        tpch::explain(e, o);
        fmt::print(stderr, "tpch: {}\n{}", o.error, o.page);
        return o.out_of_memory ? exit_code::out_of_memory : exit_code::bad_input;
    }
}
