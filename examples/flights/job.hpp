// The job over one policy set: reads the four files, answers the queries, and measures the memory use. Exceptions, such
// as out_of_memory, leave it with all rows released.
#pragma once
#include "database.hpp"
#include "device/device.hpp"
#include "loader.hpp"
#include "options.hpp"
#include "outcome.hpp"
#include "queries/carriers.hpp"
#include "queries/delays.hpp"
#include "queries/months.hpp"
#include "queries/routes.hpp"
#include "queries/sorted.hpp"
#include <algorithm>
#include <allot/report/accounts.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/drill.hpp>
#include <bit>
#include <chrono>
#include <optional>

namespace flights {

class stopwatch {
  public:
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

template <class Rows> using query = answer (*)(database<Rows>&);

/// In the order of query_names.
template <class Rows>
inline constexpr std::array<query<Rows>, query_names.size()> queries{carriers<Rows>, months<Rows>, routes<Rows>,
                                                                     delays<Rows>, sorted<Rows>};

/// Blocks of the files: buffers of use::drill over the engine's pages. The account is charged for the buffers. The pool
/// has no account; it returns free pages when the arena is short of them.
class csv_blocks {
  public:
    explicit csv_blocks(operator_account& read)
        : pool_{read.of.pages, allot::name{"blocks"}, allot::limit{read.of.asked.memory},
                chunk_for(read.of.asked.memory)},
          account_{read.account, allot::name{"load/read/blocks"}} {}

    csv::block_memory memory() { return {pool_, account_}; }

  private:
    struct drill_on_pages : allot::with<allot::use::drill, allot::page::of<page_arena>> {};

    /// Drill's 16 MiB if the limit is large, else a 32nd of the limit, but at least one block.
    static allot::chunk_bytes chunk_for(std::size_t limit) {
        return {std::clamp(std::bit_floor(limit / 32), csv::block_bytes, allot::use::drill::chunk.bytes)};
    }
    allot::chunk_arena<drill_on_pages> pool_;
    allot::account account_;
};

template <class Rows> void read_tables(sources<Rows>& from, database<Rows>& db, const options& asked, outcome& out) {
    csv_blocks files(from.read);
    const csv::block_memory blocks = files.memory();
    progress shown;
    const stopwatch reading;
    out.files.push_back(load(from.flights, blocks, db.workers, asked.flights, db.flights, shown));
    out.files.push_back(load(from.airlines, blocks, db.workers, asked.airlines, db.airlines, shown));
    out.files.push_back(load(from.planes, blocks, db.workers, asked.planes, db.planes, shown));
    out.files.push_back(load(from.airports, blocks, db.workers, asked.airports, db.airports, shown));
    out.reading = reading.seconds();
}

/// Answers a query. If its operator runs out of memory, the query has no answer and is reported; any other lack of
/// memory ends the job.
template <class Rows> void answer_query(std::size_t q, database<Rows>& db, outcome& out) {
    const stopwatch answering;
    try {
        out.answers.push_back(queries<Rows>[q](db));
        out.answers.back().seconds = answering.seconds();
    } catch (const allot::out_of_memory& e) {
        auto why = refused_by_operator(e);
        if (!why) throw;
        out.refused.push_back(std::move(*why));
    }
}

template <class Rows> void read_and_answer(engine& memory, sources<Rows>& from, outcome& out) {
    const options& asked = memory.asked;
    database<Rows> db(memory, from, asked.threads);
    std::optional<device_memory<Rows>> beside;
    if (asked.device != "none") beside.emplace(memory);
    const auto device = beside ? open_device(asked, db.flights, beside->chunks.memory) : nullptr;
    read_tables(from, db, asked, out);
    memory.release_empty_pages();
    db.note("after reading");
    if (device) device->keep();

    for (std::size_t q = 0; q != query_names.size(); ++q)
        if (asked.asks_for(query_names[q])) answer_query(q, db, out);
    if (device) out.device = device->finish();
    out.fullest = db.log.fullest();
}

inline void explain(engine& memory, outcome& out) {
    std::vector<char> page(64 * 1024);
    allot::text_writer text{page.data(), page.size()};
    const allot::account_peak& peak = memory.fullest();
    allot::write_accounts(text, peak);
    out.accounts = text.view();
    text.clear();
    allot::write_accounts_json(text, peak);
    out.accounts_json = text.view();
}

template <class Set> outcome run_job(const options& asked) {
    engine memory{asked};
    outcome out;
    try {
        sources<allot::row_manager<charged<Set>>> from(memory);
        read_and_answer(memory, from, out);
        memory.release_empty_pages();
        out.afterwards = memory.measure("afterwards");
    } catch (const allot::out_of_memory& e) {
        if (const auto why = refused_by_operator(e)) throw operator_refused(why->page); // while reading
        throw;
    }
    if (asked.explain_memory) explain(memory, out);
    return out;
}

} // namespace flights
