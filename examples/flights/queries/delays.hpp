// Hash join and sort: all flights that departed, joined with their planes; the twenty with the longest delays are
// shown.
//
// A joined row holds a link to each of its two rows. Its row type has a destructor, which releases both.
#pragma once
#include "../answer.hpp"
#include "../compact.hpp"
#include "../database.hpp"
#include "../hash_join.hpp"
#include "../parallel_sort.hpp"
#include "flight_order.hpp"
#include <algorithm>
#include <mutex>

namespace flights {

struct flight_with_plane {
    allot::row_ptr<flight> left;
    allot::row_ptr<plane> right; // null: not in the registry of planes

    static constexpr auto row_relocation = allot::relocation::bytes; // a row_ptr does not depend on its address
};

template <class Rows> answer delays(database<Rows>& db) {
    using row_array = allot::row_array<typename Rows::set>;
    query_account query(db.memory, "delays");
    operator_account join(query, "join"), sort(query, "sort");
    table_memory<Rows> by_tail(join, "planes"), kept(join, "pairs"), order(sort, "order");
    const join_index<plane> planes(by_tail.memory, db.workers, db.planes);
    by_tail.release_empty_pages(); // the index left them as it grew

    auto pairs = kept.rows.heap(allot::as<allot::heap::unique, allot::size::packed>, sizeof(flight_with_plane),
                                allot::row_type_of<flight_with_plane>);

    row_array all(order.rows);
    static_cast<void>(all.try_reserve(db.flights.rows())); // if it cannot, it grows by less as rows come, or throws
    std::mutex lock;                                       // of the array's writer
    morsels chunks(db.workers, db.flights.chunks());
    db.workers.run([&](unsigned) {
        row_array part(kept.rows);
        for (std::size_t c = 0; chunks.next(c);) {
            static_cast<void>(part.try_reserve(db.flights[c].size()));
            each_row<flight>(db.flights[c], [&](flight& row) {
                if (!row.has_delay()) return;
                plane* const found = planes.find(text(row, flight::tailnum));
                append(part, pairs.template make<flight_with_plane>(
                                 flight_with_plane{allot::row_ptr<flight>::linked(&row),
                                                   found ? allot::row_ptr<plane>::linked(found) : nullptr}));
            });
            const std::lock_guard held{lock};
            move_rows(part, all);
        }
    });
    auto in_order = all.lock();
    parallel_sort<flight_with_plane>(
        in_order.rows(), order.memory, db.workers,
        [](const flight_with_plane& a, const flight_with_plane& b) { return comes_before(*a.left, *b.left); });
    db.note("delays");
    if (db.memory.all.asked.compact) compact_first(db, in_order, most_listed, kept.rows);

    answer out{"delays",
               "The latest departures and their planes",
               {"delay", "date", "carrier", "flight", "from", "to", "tailnum", "manufacturer", "model"},
               {}};
    for (const void* const row : in_order.rows().first(std::min(in_order.rows().size(), most_listed))) {
        const auto& pair = *static_cast<const flight_with_plane*>(row);
        const flight& f = *pair.left;
        const plane* const p = pair.right.get();
        out.add({f.dep_delay, date(f.year, f.month, f.day), text_or_null(text(f, flight::carrier)),
                 number_or_null(f.is_null(flight::flight_column), f.flight_number),
                 text_or_null(text(f, flight::origin)), text_or_null(text(f, flight::dest)),
                 text_or_null(text(f, flight::tailnum)), text_or_null(p ? text(*p, plane::manufacturer) : ""),
                 text_or_null(p ? text(*p, plane::model) : "")});
    }
    return out;
}

} // namespace flights
