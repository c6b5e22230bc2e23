// Group-by with many groups, and two joins: the busiest routes, with the names of their airports.
#pragma once
#include "../answer.hpp"
#include "../database.hpp"
#include "../group_by.hpp"
#include "../hash_join.hpp"
#include <tuple>

namespace flights {

struct route_group {
    static constexpr const char* row_name = "group of routes";
    struct key {
        std::string_view origin, dest;
        bool operator==(const key&) const = default;
        std::uint64_t hash() const { return hash_both(hash_of(origin), hash_of(dest)); }
    };

    explicit route_group(const key& k) : of(k) {}
    void add(const flight& f) {
        ++flights;
        miles += f.distance;
    }
    void merge(const route_group& other) {
        flights += other.flights;
        miles += other.miles;
    }

    key of;
    std::int64_t flights = 0, miles = 0;
};

template <class Rows> answer routes(database<Rows>& db) {
    query_account query(db.memory, "routes");
    operator_account join(query, "join"), group(query, "group"), sort(query, "sort");
    table_memory<Rows> by_code(join, "airports");
    table_memory<Rows> states(group, "groups"), tables(group, "tables"), order(sort, "order");
    const join_index<airport> airports(by_code.memory, db.workers, db.airports);
    by_code.release_empty_pages(); // the index left them as it grew
    const grouping<route_group, Rows> groups(states.rows, tables.memory, db.workers, db.flights,
                                             [](const flight& f, route_group::key& key) {
                                                 key = {text(f, flight::origin), text(f, flight::dest)};
                                                 return true;
                                             });
    const auto sorted = groups.sorted(order.memory, [](const route_group& a, const route_group& b) {
        return std::tie(b.flights, a.of.origin, a.of.dest) < std::tie(a.flights, b.of.origin, b.of.dest);
    });
    db.note("routes");

    answer out{"routes", "The busiest routes", {"from", "from_airport", "to", "to_airport", "flights", "miles"}, {}};
    for (std::size_t i = 0; i != sorted.size() && i != most_listed; ++i) {
        const route_group& g = *sorted[i];
        out.add({text_or_null(g.of.origin), text_or_null(airports.text_of(g.of.origin, airport::airport_name)),
                 text_or_null(g.of.dest), text_or_null(airports.text_of(g.of.dest, airport::airport_name)), g.flights,
                 g.miles});
    }
    return out;
}

} // namespace flights
