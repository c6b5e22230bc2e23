// The order of flights: the longest departure delay first, then by date, scheduled time, carrier, number, route and
// tail number; nulls last. Flights that are equal in these are equal in all columns that the queries print.
#pragma once
#include "../tables.hpp"
#include <climits>
#include <tuple>

namespace flights {

inline std::int32_t nulls_last(const flight& f, std::size_t column, std::int32_t n) {
    return f.is_null(column) ? INT_MAX : n;
}

inline auto by_time(const flight& f) {
    return std::tuple{nulls_last(f, flight::dep_delay_column, -f.dep_delay), nulls_last(f, flight::year_column, f.year),
                      nulls_last(f, flight::month_column, f.month), nulls_last(f, flight::day_column, f.day),
                      nulls_last(f, flight::sched_dep_column, f.sched_dep_time)};
}

inline bool comes_before(const flight& a, const flight& b) {
    const auto ta = by_time(a), tb = by_time(b);
    if (ta != tb) return ta < tb;
    auto text_order = [&](std::size_t t) {
        const bool na = text_is_null(a, t), nb = text_is_null(b, t);
        return na != nb ? (na ? 1 : -1) : text(a, t).compare(text(b, t));
    };
    if (const int c = text_order(flight::carrier)) return c < 0;
    const std::int32_t na = nulls_last(a, flight::flight_column, a.flight_number);
    const std::int32_t nb = nulls_last(b, flight::flight_column, b.flight_number);
    if (na != nb) return na < nb;
    for (auto t : {flight::origin, flight::dest, flight::tailnum})
        if (const int c = text_order(t)) return c < 0;
    return false;
}

} // namespace flights
