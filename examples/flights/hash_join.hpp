// The build side of a hash join: an index of a table by its key, in one part per thread, each built by one thread.
//
// Of rows with the same key, the first in the file counts. A null key is never found. The build reads the table once
// per thread; a lookup is one probe. The index holds no links, so the table must outlive it.
#pragma once
#include "hash_table.hpp"
#include "tables.hpp"
#include "team.hpp"

namespace flights {

template <class Row> class join_index {
  public:
    template <class Rows>
    join_index(std::pmr::memory_resource& memory, team& workers, const table<Row, Rows>& from) : parts_(&memory) {
        parts_.reserve(workers.workers());
        for (unsigned w = 0; w != workers.workers(); ++w) parts_.emplace_back(&memory);
        workers.run([&](unsigned worker) {
            for (std::size_t c = 0; c != from.chunks(); ++c) {
                if (workers.stopping()) return;
                each_row<Row>(from[c], [&](Row& row) {
                    if (text_is_null(row, Row::key)) return;
                    const std::string_view key = text(row, Row::key);
                    const std::uint64_t hash = hash_of(key);
                    if (part_of(hash, parts_.size()) != worker) return;
                    auto same = [&](const Row& other) { return text(other, Row::key) == key; };
                    parts_[worker].find_or_put(hash, same, [&] { return &row; });
                });
            }
        });
    }

    /// The row with this key, or null.
    Row* find(std::string_view key) const {
        const std::uint64_t hash = hash_of(key);
        return parts_[part_of(hash, parts_.size())].find(hash, [&](const Row& r) { return text(r, Row::key) == key; });
    }

    /// A text of the row with this key; empty if there is no such row.
    std::string_view text_of(std::string_view key, std::size_t which) const {
        const Row* const row = find(key);
        return row == nullptr ? std::string_view{} : text(*row, which);
    }

  private:
    std::pmr::vector<hash_table<Row>> parts_;
};

} // namespace flights
