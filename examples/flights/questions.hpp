// What the program is asked: the queries, the memory of the blocks that files are read in, and how the tables are read.
#pragma once
#include "database.hpp"
#include "loader.hpp"
#include "options.hpp"
#include "queries/carriers.hpp"
#include "queries/delays.hpp"
#include "queries/months.hpp"
#include "queries/routes.hpp"
#include "queries/sorted.hpp"
#include <algorithm>
#include <allot/use/drill.hpp>
#include <bit>
#include <vector>

namespace flights {

template <class Rows> using query = answer (*)(database<Rows>&);

/// In the order of query_names.
template <class Rows>
inline constexpr std::array<query<Rows>, query_names.size()> queries{carriers<Rows>, months<Rows>, routes<Rows>,
                                                                     delays<Rows>, sorted<Rows>};

/// The memory of buffers: use::drill over the engine's pages. It has no account, its buffers have; it returns free
/// pages when the arena is short of them.
class buffer_pool {
  public:
    explicit buffer_pool(engine& of)
        : pool_{of.pages, allot::name{"blocks"}, allot::limit{of.asked.tasks != 0 ? SIZE_MAX : of.asked.memory},
                chunk_for(of.asked.memory)} {}

    allot::buffer_memory memory() { return pool_; }
    void show_in(allot::html_page& page) const { page.chunks(pool_); }

  private:
    struct drill_on_pages : allot::with<allot::use::drill, allot::page::of<page_arena>> {};

    /// Drill's 16 MiB if the limit is large, else a 32nd of the limit, but at least one block.
    static allot::chunk_bytes chunk_for(std::size_t limit) {
        return {std::clamp(std::bit_floor(limit / 32), csv::block_bytes, allot::use::drill::chunk.bytes)};
    }
    allot::chunk_arena<drill_on_pages> pool_;
};

/// Reads the four files; of the flights, those for which keep(flight) is true.
template <class Rows, class Keep>
std::vector<file_read> read_files(sources<Rows>& from, const csv::block_memory& blocks, const options& asked,
                                  database<Rows>& db, Keep keep, progress& shown) {
    std::vector<file_read> files;
    files.push_back(load(from.flights, blocks, db.workers, asked.flights, db.flights, shown, keep));
    files.push_back(load(from.airlines, blocks, db.workers, asked.airlines, db.airlines, shown));
    files.push_back(load(from.planes, blocks, db.workers, asked.planes, db.planes, shown));
    files.push_back(load(from.airports, blocks, db.workers, asked.airports, db.airports, shown));
    return files;
}

} // namespace flights
