// Sort: all flights in order; five of them are shown, with a checksum that depends on the order.
//
// checksum(k) = sum over the first k flights of rank * ((date * 10000 + sched_dep_time) * 10000 + flight +
// dep_delay), modulo 2^64, with null as 0 and date as yyyymmdd.
#pragma once
#include "../answer.hpp"
#include "../database.hpp"
#include "../parallel_sort.hpp"
#include "flight_order.hpp"

namespace flights {

inline std::uint64_t order_value(const flight& f) {
    const std::int64_t day = f.year * 10'000 + f.month * 100 + f.day;
    return static_cast<std::uint64_t>((day * 10'000 + f.sched_dep_time) * 10'000 + f.flight_number + f.dep_delay);
}

template <class Rows> answer sorted(database<Rows>& db) {
    query_account query(db.memory, "sorted");
    operator_account sort(query, "sort");
    table_memory<Rows> order(sort, "order");
    allot::row_array<typename Rows::set> all(order.rows);
    all.reserve(db.flights.rows());
    db.flights.each([&](flight& f) { append(all, allot::row_ptr<flight>::linked(&f)); });
    const auto in_order = all.lock();
    parallel_sort<flight>(in_order.rows(), order.memory, db.workers, comes_before);
    db.note("sorted");

    answer out{"sorted",
               "All flights in order, five of them",
               {"rank", "delay", "date", "sched_dep_time", "carrier", "flight", "from", "to", "checksum"},
               {}};
    auto& [count, rank, place, sum] = db.place;
    if (count == 0) count = all.size();
    for (const void* const row : in_order) {
        const flight& f = *static_cast<const flight*>(row);
        sum += ++rank * order_value(f);
        const bool reported = rank == 1 + (count - 1) * place / 4;
        if (!reported) continue;
        while (place <= 4 && rank == 1 + (count - 1) * place / 4) ++place;
        out.add({number(rank), number_or_null(!f.has_delay(), f.dep_delay), date(f.year, f.month, f.day),
                 number_or_null(f.is_null(flight::sched_dep_column), f.sched_dep_time),
                 text_or_null(text(f, flight::carrier)),
                 number_or_null(f.is_null(flight::flight_column), f.flight_number),
                 text_or_null(text(f, flight::origin)), text_or_null(text(f, flight::dest)), checksum_text(sum)});
    }
    return out;
}

} // namespace flights
