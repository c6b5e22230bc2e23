// --compact: rows that are not needed any more are released, and those that stay are packed into fewer pages.
//
// - After reading: rows that no asked query reads. carriers, months, routes and sorted read all flights, delays those
//   that departed. Of the other tables a query reads the rows that a flight names (a semi-join).
// - After the sort of delays: joined rows that are not listed.
// Rows move while nobody has their addresses but the arrays: no index or list of a query is alive.
#pragma once
#include "database.hpp"
#include "hash_table.hpp"
#include "tables.hpp"
#include "team.hpp"
#include <algorithm>
#include <allot/row/moving/row_compactor.hpp>
#include <atomic>
#include <cstddef>
#include <string_view>
#include <utility>

namespace flights {

/// The texts that the flights have in a column, by one flight for each.
template <class Rows> class named_by_flights {
  public:
    named_by_flights(const database<Rows>& db, std::pmr::memory_resource& memory, flight::text_name column)
        : column_(column), flights_(&memory) {
        db.flights.each([&](const flight& f) {
            const std::string_view name = text(f, column);
            flights_.find_or_put(hash_of(name), is(name), [&] { return &f; });
        });
    }
    bool has(std::string_view name) const { return flights_.find(hash_of(name), is(name)) != nullptr; }

  private:
    auto is(std::string_view name) const {
        return [column = column_, name](const flight& f) { return text(f, column) == name; };
    }
    flight::text_name column_;
    hash_table<const flight> flights_;
};

/// Releases the rows of an array for which keep(row) is false; the others stay, in their order. Returns: how many
/// were released.
template <class Row, class Rows, class Keep>
std::size_t drop_others(allot::row_array<typename Rows::set>& from, Rows& rows, Keep keep) {
    auto all = from.lock();
    std::size_t dropped = all.rows().size(); // the rows that stay move behind the others
    for (std::size_t i = dropped; i-- != 0;)
        if (keep(*static_cast<const Row*>(all.rows()[i]))) std::swap(all.rows()[i], all.rows()[--dropped]);
    for (void* const row : all.rows().first(dropped)) rows.release(row);
    all.take_front(dropped);
    return dropped;
}

/// Counts the pages of a row manager before and after pack(), which returns the rows that it moved.
template <class Rows, class Pack> void count_pages(compacted_rows& done, Rows& rows, Pack pack) {
    rows.trim();
    const std::size_t before = rows.used(), page = rows.arena().page_bytes();
    done.moved = pack();
    rows.trim();
    done.pages_before = before / page;
    done.pages_after = rows.used() / page;
    done.bytes_returned = before - rows.used();
}

/// Releases the rows of a table for which keep(row) is false, and packs the others, chunks of the whole table at once.
template <class Row, class Rows, class Keep>
void compact(database<Rows>& db, table<Row, Rows>& of, Rows& rows, Keep keep) {
    compacted_rows done{.of = rows.name(), .rows = of.rows()};
    std::atomic<std::size_t> dropped{0};
    morsels chunks(db.workers, of.chunks());
    db.workers.run([&](unsigned) {
        for (std::size_t c = 0; chunks.next(c);) dropped += drop_others<Row>(of[c], rows, keep);
    });
    done.dropped = dropped;
    count_pages(done, rows, [&] {
        allot::row_compactor<typename Rows::set> packs(rows);
        for (std::size_t c = 0; c != of.chunks(); ++c) packs.add(of[c]);
        const std::size_t moved = packs.compact().moved;
        for (std::size_t c = 0; c != of.chunks(); ++c) packs.remove(of[c]);
        return moved;
    });
    db.compacted.push_back(std::move(done));
}

/// Releases all rows but the first ones, and packs these. `sorted`: a row array that is locked.
template <class View, class Rows> void compact_first(database<Rows>& db, View& sorted, std::size_t first, Rows& rows) {
    compacted_rows done{.of = rows.name(), .rows = sorted.rows().size()};
    if (done.rows > first) {
        done.dropped = done.rows - first;
        std::rotate(sorted.begin(), sorted.begin() + first, sorted.end()); // an array gives rows away at its front
        for (void* const row : sorted.rows().first(done.dropped)) rows.release(row);
        sorted.take_front(done.dropped);
    }
    count_pages(done, rows, [&] { return rows.compact(sorted.rows()).moved; });
    db.compacted.push_back(std::move(done));
}

template <class Rows> void compact_tables(const options& asked, sources<Rows>& from, database<Rows>& db) {
    const auto asks = [&](std::string_view query) { return asked.asks_for(query); };
    const bool all = asks("carriers") || asks("months") || asks("routes") || asks("sorted");
    compact(db, db.flights, from.flights.rows, [&](const flight& f) { return all || f.has_delay(); });

    table_memory<Rows> names(from.read, "names"); // of the flights: released before the queries
    const auto named = [&](flight::text_name column) { return named_by_flights<Rows>(db, names.memory, column); };
    const auto carriers = named(flight::carrier);
    compact(db, db.airlines, from.airlines.rows,
            [&](const airline& a) { return asks("carriers") && carriers.has(text(a, airline::carrier)); });
    const auto tails = named(flight::tailnum);
    compact(db, db.planes, from.planes.rows,
            [&](const plane& p) { return asks("delays") && tails.has(text(p, plane::tailnum)); });
    const auto origins = named(flight::origin), dests = named(flight::dest);
    compact(db, db.airports, from.airports.rows, [&](const airport& a) {
        return asks("routes") && (origins.has(text(a, airport::code)) || dests.has(text(a, airport::code)));
    });
}

} // namespace flights
