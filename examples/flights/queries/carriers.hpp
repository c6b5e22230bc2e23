// Group-by and join: the average departure delay of each airline, the largest first.
#pragma once
#include "../answer.hpp"
#include "../database.hpp"
#include "../group_by.hpp"
#include "../hash_join.hpp"

namespace flights {

struct carrier_group {
    static constexpr const char* row_name = "group of carriers";
    struct key {
        std::string_view carrier;
        bool operator==(const key&) const = default;
        std::uint64_t hash() const { return hash_of(carrier); }
    };

    explicit carrier_group(const key& k) : of(k) {}
    void add(const flight& f) {
        ++flights;
        if (!f.has_delay()) return;
        ++flown;
        delay += f.dep_delay;
    }
    void merge(const carrier_group& other) {
        flights += other.flights;
        flown += other.flown;
        delay += other.delay;
    }
    double average() const { return static_cast<double>(delay) / static_cast<double>(flown); }

    key of;
    std::int64_t flights = 0, flown = 0, delay = 0;
};

template <class Rows> answer carriers(database<Rows>& db) {
    query_account query(db.memory, "carriers");
    operator_account join(query, "join"), group(query, "group"), sort(query, "sort");
    table_memory<Rows> by_code(join, "airlines");
    table_memory<Rows> states(group, "groups"), tables(group, "tables"), order(sort, "order");
    const join_index<airline> airlines(by_code.memory, db.workers, db.airlines);
    by_code.release_empty_pages(); // the index left them as it grew
    const grouping<carrier_group, Rows> groups(states.rows, tables.memory, db.workers, db.flights,
                                               [](const flight& f, carrier_group::key& key) {
                                                   key.carrier = text(f, flight::carrier);
                                                   return true;
                                               });
    const auto sorted = groups.sorted(order.memory, [](const carrier_group& a, const carrier_group& b) {
        if ((a.flown == 0) != (b.flown == 0)) return b.flown == 0;
        if (a.flown != 0 && a.average() != b.average()) return a.average() > b.average();
        return a.of.carrier < b.of.carrier;
    });
    db.note("carriers");

    answer out{"carriers", "Departure delay by airline", {"carrier", "airline", "flights", "flown", "avg_delay"}, {}};
    for (const carrier_group* g : sorted)
        out.add({text_or_null(g->of.carrier), text_or_null(airlines.text_of(g->of.carrier, airline::airline_name)),
                 g->flights, g->flown, g->flown == 0 ? cell{} : cell{decimal{g->average()}}});
    return out;
}

} // namespace flights
