// --tasks N: N queries at once, in a memory that may be too small for two of them. Each is a task of the engine's
// arbiter, on one thread, and gives the same answer as alone.
//
// A query reads a share of the flights, all of them at first. If it is rolled back, it begins again; if its share is
// split, it answers one half after the other, and puts the answers together. Shares are cut by what the query groups or
// orders by, so no group is in two shares. A share holds no memory between attempts: its flights are read again.
#pragma once
#include "../shared/stopwatch.hpp"
#include "outcome.hpp"
#include "questions.hpp"
#include <algorithm>
#include <allot/oom/retry.hpp>
#include <allot/task/task_group.hpp>
#include <condition_variable>
#include <exception>
#include <fmt/core.h>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace flights {

/// Parts [first, end) of the flights: an input that can be split.
struct share {
    static constexpr unsigned parts = 64;
    unsigned first = 0, end = parts;

    bool has(unsigned part) const { return first <= part && part < end; }
    void pin() const {}
    std::size_t bytes() const { return 0; } // that it keeps
};

inline std::vector<share> halves(const share& s) {
    if (s.end - s.first < 2) return {};
    const unsigned middle = (s.first + s.end) / 2;
    return {{s.first, middle}, {middle, s.end}};
}

inline bool is_less(const cell& a, const cell& b) {
    if (a.index() != b.index()) return a.index() < b.index();
    if (const auto* const text = std::get_if<std::string>(&a)) return *text < std::get<std::string>(b);
    if (const auto* const n = std::get_if<decimal>(&a)) return n->value < std::get<decimal>(b).value;
    return !std::holds_alternative<std::monostate>(a) && std::get<std::int64_t>(a) < std::get<std::int64_t>(b);
}

/// How a query is cut into shares, and how their answers are put together.
struct cut_of_query {
    using row = std::vector<cell>;

    unsigned (*part)(const draft<flight>&);
    bool (*before)(const row&, const row&); // null: shares are in order
    std::size_t most = SIZE_MAX;            // rows
};

inline unsigned part_by_hash(std::uint64_t hash) { return static_cast<unsigned>(part_of(hash, share::parts)); }
/// The longest delays first, flights without one last: as flight_order.hpp.
inline unsigned part_in_order(const draft<flight>& f) {
    if (!f.fixed.has_delay()) return share::parts - 1;
    constexpr int last = share::parts - 2;
    return static_cast<unsigned>(std::clamp(last / 2 - f.fixed.dep_delay, 0, last));
}
inline bool by_columns(const cut_of_query::row& a, const cut_of_query::row& b,
                       std::initializer_list<std::size_t> columns) {
    for (const std::size_t c : columns)
        if (is_less(a[c], b[c]) || is_less(b[c], a[c])) return is_less(a[c], b[c]);
    return false;
}

/// In the order of query_names.
inline constexpr std::array<cut_of_query, query_names.size()> cuts{{
    {[](const draft<flight>& f) { return part_by_hash(hash_of(f.text[flight::carrier])); },
     [](const cut_of_query::row& a, const cut_of_query::row& b) { // the largest average first, none last
         return is_less(b[4], a[4]) || (!is_less(a[4], b[4]) && is_less(a[0], b[0]));
     }},
    {[](const draft<flight>& f) { return part_by_hash(hash_of(f.text[flight::origin])); },
     [](const cut_of_query::row& a, const cut_of_query::row& b) { return by_columns(a, b, {0, 1, 2}); }},
    {[](const draft<flight>& f) {
         return part_by_hash(hash_both(hash_of(f.text[flight::origin]), hash_of(f.text[flight::dest])));
     },
     [](const cut_of_query::row& a, const cut_of_query::row& b) { // the most flights first
         return is_less(b[4], a[4]) || (!is_less(a[4], b[4]) && by_columns(a, b, {0, 2}));
     },
     most_listed},
    {part_in_order, nullptr, most_listed},
    {part_in_order, nullptr},
}};

inline answer put_together(std::vector<answer> parts, const cut_of_query& cut) {
    answer all = std::move(parts.front());
    for (std::size_t p = 1; p != parts.size(); ++p)
        all.rows.insert(all.rows.end(), parts[p].rows.begin(), parts[p].rows.end());
    if (cut.before != nullptr) std::stable_sort(all.rows.begin(), all.rows.end(), cut.before);
    if (all.rows.size() > cut.most) all.rows.resize(cut.most);
    return all;
}

template <class Rows> class task_runner {
  public:
    task_runner(engine& of, outcome& out) : all_(of), out_(out), buffers_(of) {}

    /// Answers a query as a task of this thread, in memory of that account.
    answer run(std::size_t q, task_use& use, allot::account& memory) {
        use.query = query_names[q];
        const shared::stopwatch answering;
        allot::account mine{memory, allot::name{use.query.c_str()}};
        allot::oom::task task{all_.tasks, use.query.c_str(), 0, &mine};
        const allot::oom::task_thread here{task};
        place_in_order place;
        std::vector<share> shares(1);
        answer all = put_together(
            allot::oom::with_retry(shares, halves, [&](const share& s) { return answer_share(q, s, mine, place); }),
            cuts[q]);
        const allot::oom::task_stats stats = task.stats();
        use.rollbacks = stats.rollbacks, use.splits = stats.splits;
        use.blocked = static_cast<double>(stats.blocked_ns) / 1e9, use.lost = static_cast<double>(stats.lost_ns) / 1e9;
        use.peak = mine.peak();
        use.seconds = all.seconds = answering.seconds();
        return all;
    }

  private:
    /// The body: it can be begun again, since it changes `place` last.
    answer answer_share(std::size_t q, const share& s, allot::account& mine, place_in_order& place) {
        const workspace here{all_, mine};
        sources<Rows> from(here);
        database<Rows> db(here, from, 1);
        progress hidden{false};
        std::vector<file_read> files;
        {
            allot::account by{from.read.account, allot::name{"load/read/blocks"}};
            const csv::block_memory blocks{buffers_.memory(), by};
            const auto keep = [&](const draft<flight>& f) { return s.has(cuts[q].part(f)); };
            files = read_files(from, blocks, all_.asked, db, keep, hidden);
        }
        db.place = place;
        db.place.all = files.front().rows;
        answer part = queries<Rows>[q](db);
        const std::lock_guard held{lock_};
        if (out_.fullest.when.empty() || out_.fullest.charged < db.log.fullest().charged)
            out_.fullest = db.log.fullest();
        out_.files = std::move(files);
        place = db.place;
        return part;
    }

    engine& all_;
    outcome& out_;
    buffer_pool buffers_;
    std::mutex lock_; // of `out_`
};

/// A line each second, on a terminal in place of the one before: what the executor does, and the memory under its
/// limit.
class task_log {
  public:
    task_log(const allot::executor& of, const allot::account& memory)
        : thread_([&, is_terminal = ::isatty(2) != 0](const std::stop_token& stop) {
              std::unique_lock held{lock_};
              while (!ends_.wait_for(held, stop, std::chrono::seconds(1), [&] { return stop.stop_requested(); }))
                  fmt::print(stderr, "{}tasks: {} wait, {} run, {} done, {} began again; {} KiB of {} KiB{}",
                             is_terminal ? "\r" : "", of.stats().waiting, of.stats().running, of.stats().done,
                             of.stats().ran_out, memory.used() >> 10, memory.limit() >> 10, is_terminal ? " " : "\n");
          }) {}

  private:
    std::mutex lock_;
    std::condition_variable_any ends_;
    std::jthread thread_;
};

/// First one query after the other, then --tasks at once: each on a thread of its own; or, with --threshold, by an
/// executor, which starts one where what it took alone fits.
template <class Rows> void run_tasks(engine& memory, outcome& out) {
    task_runner<Rows> runner(memory, out);
    std::vector<std::size_t> asked, alone;
    for (std::size_t q = 0; q != query_names.size(); ++q)
        if (memory.asked.asks_for(query_names[q])) asked.push_back(q);
    for (const std::size_t q : asked) {
        task_use use;
        out.answers.push_back(runner.run(q, use, memory.account));
        alone.push_back(use.peak);
    }
    out.tasks.resize(memory.asked.tasks);
    const auto answer_one = [&](std::size_t t, allot::account& in) {
        const std::size_t which = t % asked.size();
        const answer beside = runner.run(asked[which], out.tasks[t], in);
        out.tasks[t].equal = to_csv(beside) == to_csv(out.answers[which]);
    };
    if (memory.asked.threshold != 0) {
        allot::executor run{
            memory.tasks, memory.account, {.threads = memory.asked.threads, .percent = memory.asked.threshold}};
        allot::task_group all{run, allot::name{"queries"}};
        const task_log log{run, memory.account};
        for (std::size_t t = 0; t != out.tasks.size(); ++t)
            all.add({.name = query_names[asked[t % asked.size()]].data(), .overhead = alone[t % asked.size()]},
                    [&, t](allot::task_step& step) { answer_one(t, step.memory()); });
        try {
            all.wait();
        } catch (const std::nested_exception& e) {
            e.rethrow_nested(); // as without an executor
        }
        return;
    }
    std::vector<std::exception_ptr> errors(out.tasks.size());
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t != out.tasks.size(); ++t)
            threads.emplace_back([&, t]() noexcept {
                try {
                    answer_one(t, memory.account);
                } catch (...) {
                    errors[t] = std::current_exception();
                }
            });
    }
    for (const std::exception_ptr& e : errors)
        if (e) std::rethrow_exception(e);
}

} // namespace flights
