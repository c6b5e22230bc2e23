// Hash join and sort: all flights that departed, joined with their planes; the twenty with the longest delays are
// shown.
//
// A joined row holds a link to each of its two rows. Its row type has a destructor, which releases both.
#pragma once
#include "../answer.hpp"
#include "../database.hpp"
#include "../hash_join.hpp"
#include "../parallel_sort.hpp"
#include "flight_order.hpp"

namespace flights {

struct flight_with_plane {
    allot::row_ptr<flight> left;
    allot::row_ptr<plane> right; // null: not in the registry of planes
};

template <class Rows> answer delays(database<Rows>& db) {
    using joined = allot::row_ptr<flight_with_plane>;
    query_account query(db.memory, "delays");
    operator_account join(query, "join"), sort(query, "sort");
    table_memory<Rows> by_tail(join, "planes"), kept(join, "pairs"), order(sort, "order");
    const join_index<plane> planes(by_tail.memory, db.workers, db.planes);
    by_tail.release_empty_pages(); // the index left them as it grew

    auto pairs = kept.rows.heap(allot::as<allot::heap::unique, allot::size::packed>, sizeof(flight_with_plane),
                                allot::row_type_of<flight_with_plane>);

    std::pmr::vector<std::pmr::vector<joined>> parts(db.flights.chunks.size(), &kept.memory);
    morsels chunks(db.workers, parts.size());
    db.workers.run([&](unsigned) {
        for (std::size_t c = 0; chunks.next(c);) {
            parts[c].reserve(db.flights.chunks[c].size());
            for (const auto& row : db.flights.chunks[c]) {
                if (!row->has_delay()) continue;
                plane* const found = planes.find(text(*row, flight::tailnum));
                parts[c].push_back(pairs.template make<flight_with_plane>(
                    flight_with_plane{row, found ? allot::row_ptr<plane>::linked(found) : nullptr}));
            }
        }
    });
    std::size_t count = 0;
    for (const auto& part : parts) count += part.size();
    std::pmr::vector<joined> all(&order.memory);
    all.reserve(count);
    for (auto& part : parts) {
        std::move(part.begin(), part.end(), std::back_inserter(all));
        part.clear();
        part.shrink_to_fit();
    }
    parallel_sort(all, db.workers, [](const joined& a, const joined& b) { return comes_before(*a->left, *b->left); });
    db.note("delays");

    answer out{"delays",
               "The latest departures and their planes",
               {"delay", "date", "carrier", "flight", "from", "to", "tailnum", "manufacturer", "model"},
               {}};
    for (std::size_t i = 0; i != all.size() && i != most_listed; ++i) {
        const flight& f = *all[i]->left;
        const plane* const p = all[i]->right.get();
        out.add({f.dep_delay, date(f.year, f.month, f.day), text_or_null(text(f, flight::carrier)),
                 number_or_null(f.is_null(flight::flight_column), f.flight_number),
                 text_or_null(text(f, flight::origin)), text_or_null(text(f, flight::dest)),
                 text_or_null(text(f, flight::tailnum)), text_or_null(p ? text(*p, plane::manufacturer) : ""),
                 text_or_null(p ? text(*p, plane::model) : "")});
    }
    return out;
}

} // namespace flights
