// The job over one set of policies: read the four files, answer the queries, note where the memory went.
// Everything that throws on the way, out of memory above all, leaves through here with every row released.
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
#include <allot/row_manager.hpp>
#include <chrono>

namespace flights {

class stopwatch {
public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

template <class Rows>
using query = answer (*)(database<Rows>&);

/// In the order of query_names.
template <class Rows>
inline constexpr std::array<query<Rows>, query_names.size()> queries{
    carriers<Rows>, months<Rows>, routes<Rows>, delays<Rows>, sorted<Rows>};

template <class Rows>
void read_and_answer(Rows& rows, const options& asked, outcome& out) {
    database<Rows> db(rows, asked.threads);
    const auto device = open_device(asked, db.flights, db.memory);
    progress shown;
    const stopwatch reading;
    out.files.push_back(load(rows, db.memory, db.workers, asked.flights, db.flights, shown));
    out.files.push_back(load(rows, db.memory, db.workers, asked.airlines, db.airlines, shown));
    out.files.push_back(load(rows, db.memory, db.workers, asked.planes, db.planes, shown));
    out.files.push_back(load(rows, db.memory, db.workers, asked.airports, db.airports, shown));
    out.reading = reading.seconds();
    db.log.note(rows, "after reading");
    if (device)
        device->keep();

    for (std::size_t q = 0; q != query_names.size(); ++q) {
        if (!asked.asks_for(query_names[q]))
            continue;
        const stopwatch answering;
        out.answers.push_back(queries<Rows>[q](db));
        out.answers.back().seconds = answering.seconds();
    }
    if (device)
        out.device = device->finish();
    out.fullest = db.log.fullest();
}

template <class Set>
outcome run_job(const options& asked) {
    allot::row_manager<Set> rows{allot::limit{asked.memory}, allot::name{"flights"}};
    outcome out;
    read_and_answer(rows, asked, out);
    rows.release_empty_pages();
    out.afterwards = look_at(rows, "afterwards");
    return out;
}

} // namespace flights
