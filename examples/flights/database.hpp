// All that a query needs: the rows and the tables they make up, the row manager as a memory resource for
// containers, the threads, and the log of where the memory went. Order of members matters: tables go before
// the rows' manager.
#pragma once
#include "memory_log.hpp"
#include "tables.hpp"
#include "team.hpp"
#include <allot/adapt/pmr.hpp>

namespace flights {

template <class Rows>
struct database {
    database(Rows& manager, unsigned threads) : rows(manager), memory(manager), workers(threads) {}

    Rows& rows;
    allot::adapt::memory_resource<Rows> memory;
    team workers;
    memory_log log;
    table<flight> flights{memory};
    table<airline> airlines{memory};
    table<plane> planes{memory};
    table<airport> airports{memory};
};

} // namespace flights
