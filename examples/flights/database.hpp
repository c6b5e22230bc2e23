// The input of a query: the tables, the row managers of their rows, the threads, and the memory log.
#pragma once
#include "engine.hpp"
#include "memory_log.hpp"
#include "outcome.hpp"
#include "tables.hpp"
#include "team.hpp"

namespace flights {

/// The row managers of the four tables. Outlives the tables.
template <class Rows> struct sources {
    explicit sources(const workspace& memory) : load(memory, "load") {}

    query_account load;
    operator_account read{load, "read"};
    table_memory<Rows> flights{read, "flights"};
    table_memory<Rows> airlines{read, "airlines"};
    table_memory<Rows> planes{read, "planes"};
    table_memory<Rows> airports{read, "airports"};
    table_memory<Rows> chunks{read, "chunks"}; // of all tables: their arrays, without rows and slots
};

/// Host memory for the list of a device's chunks.
template <class Rows> struct device_memory {
    explicit device_memory(engine& memory) : device(memory, "device") {}

    query_account device;
    operator_account copy{device, "copy"};
    table_memory<Rows> chunks{copy, "chunks"};
};

/// Where the flights of a database are in the order of all, for the query `sorted`. As a rule they are all.
struct place_in_order {
    std::size_t all = 0; // flights; 0: those of the database
    std::size_t before = 0, shown = 0;
    std::uint64_t sum = 0; // of those before
};

template <class Rows> struct database {
    database(const workspace& of, sources<Rows>& from, unsigned threads)
        : memory(of), workers(threads), flights(from.flights.rows, from.chunks.rows, from.chunks.memory),
          airlines(from.airlines.rows, from.chunks.rows, from.chunks.memory),
          planes(from.planes.rows, from.chunks.rows, from.chunks.memory),
          airports(from.airports.rows, from.chunks.rows, from.chunks.memory) {}

    void note(const char* when) { log.note(memory.all, when); }

    workspace memory;
    team workers;
    memory_log log;
    table<flight, Rows> flights;
    table<airline, Rows> airlines;
    table<plane, Rows> planes;
    table<airport, Rows> airports;
    place_in_order place;
    std::vector<compacted_rows> compacted; // with --compact
};

} // namespace flights
