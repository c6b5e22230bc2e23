// What examples/flights does with memory, recorded: two threads read flights into rows through blocks of the file,
// group them by route and by plane, and join the groups with the planes; then all is released.
//
// The rows, their layout and the reader are those of the example. Its row managers, whose handles are faster than the
// calls that faces have, are left out: rows and containers go through adapt::recorded.
#include "record.hpp"

#include <flights/csv.hpp>
#include <flights/loader.hpp>
#include <flights/tables.hpp>
#include <flights/team.hpp>

#include <allot/adapt/pmr.hpp>
#include <allot/adapt/recorded.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/use/containers.hpp>
#include <allot/use/thor.hpp>

#include <algorithm>
#include <memory_resource>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace record {
namespace {

using namespace flights;

struct file_blocks : allot::policies<allot::ledger::pool, allot::fit::runs> {};
using rows_source = allot::adapt::recorded<allot::row_manager<allot::use::thor>>;

// Reads a file; a list of its rows for each thread.
template <class Row>
std::vector<std::pmr::vector<void*>> read(const std::string& path, const csv::block_memory& blocks, rows_source& rows,
                                          std::pmr::memory_resource& memory, team& workers) {
    progress shown{false};
    csv::source file(path, blocks, shown);
    const column_places<Row> places(file);
    std::vector<std::pmr::vector<void*>> all;
    for (unsigned w = 0; w != workers.workers(); ++w) all.emplace_back(&memory);
    workers.run([&](unsigned w) {
        csv::block block(blocks);
        csv::record fields;
        draft<Row> row;
        std::string_view column;
        while (file.next(block))
            for (char *at = block.begin(), *end = nullptr; at != block.end(); at = end) {
                end = csv::record_end(at, block.end(), false);
                if (csv::split(at, end, fields) == csv::flaw::none &&
                    read_row(fields, places, row, column) == csv::flaw::none)
                    all[w].push_back(store(rows, row).detach());
            }
    });
    return all;
}

struct delays {
    std::int64_t flights = 0, minutes = 0;
};

} // namespace

void flights_rows(allot::recording& to, const std::string& folder) {
    allot::account engine{allot::name{"flights"}};
    allot::chunk_arena<file_blocks> arena{engine};
    allot::row_manager<allot::use::thor> manager;
    allot::row_manager<allot::use::containers> small;
    allot::adapt::recorded blocks{arena, to};
    rows_source rows{manager, to};
    allot::adapt::recorded containers{small, to};
    allot::adapt::memory_resource memory{containers};
    team workers{2};
    const csv::block_memory of_files{blocks, engine};
    auto all = read<flight>(folder + "/flights_2013_01.csv", of_files, rows, memory, workers);
    auto planes = read<plane>(folder + "/planes.csv", of_files, rows, memory, workers);

    using groups = std::pmr::unordered_map<std::pmr::string, delays>;
    std::vector<groups> routes, tails;
    for (unsigned w = 0; w != workers.workers(); ++w) routes.emplace_back(&memory), tails.emplace_back(&memory);
    workers.run([&](unsigned w) {
        for (const void* const at : all[w]) {
            const auto& f = *static_cast<const flight*>(at);
            std::pmr::string key{text(f, flight::origin), &memory};
            key += " to ";
            key += text(f, flight::dest);
            key += " by ";
            key += text(f, flight::carrier);
            for (delays* d :
                 {&routes[w][std::move(key)], &tails[w][std::pmr::string{text(f, flight::tailnum), &memory}]}) {
                ++d->flights;
                d->minutes += f.dep_delay;
            }
        }
    });
    for (auto* parts : {&routes, &tails})
        for (std::size_t w = 1; w != parts->size(); ++w) {
            for (auto& [key, d] : (*parts)[w]) {
                delays& into = (*parts)[0][key];
                into.flights += d.flights, into.minutes += d.minutes;
            }
            (*parts)[w].clear();
        }
    std::pmr::vector<const groups::value_type*> order(&memory);
    for (const auto& part : planes)
        for (const void* const at : part) {
            const std::pmr::string key{text(*static_cast<const plane*>(at), plane::tailnum), &memory};
            if (const auto found = tails[0].find(key); found != tails[0].end()) order.push_back(&*found);
        }
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->second.minutes > b->second.minutes; });
    workers.run([&](unsigned w) {
        for (auto* table : {&all[w], &planes[w]})
            for (void* const row : *table) rows.release(row);
    });
}

} // namespace record
