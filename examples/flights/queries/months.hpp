// Group-by on two keys: flights by origin and month, and the percentage that was cancelled.
#pragma once
#include "../answer.hpp"
#include "../database.hpp"
#include "../group_by.hpp"
#include <tuple>

namespace flights {

struct month_group {
    static constexpr const char* row_name = "group of months";
    struct key {
        std::string_view origin;
        std::int32_t year = 0, month = 0;
        bool operator==(const key&) const = default;
        std::uint64_t hash() const {
            return hash_both(hash_of(origin),
                             static_cast<std::uint64_t>(year) * 12 + static_cast<std::uint64_t>(month));
        }
    };

    explicit month_group(const key& k) : of(k) {}
    void add(const flight& f) {
        ++flights;
        cancelled += f.cancelled() ? 1 : 0;
    }
    void merge(const month_group& other) {
        flights += other.flights;
        cancelled += other.cancelled;
    }

    key of;
    std::int64_t flights = 0, cancelled = 0;
};

template <class Rows> answer months(database<Rows>& db) {
    query_account query(db.memory, "months");
    operator_account group(query, "group"), sort(query, "sort");
    table_memory<Rows> states(group, "groups"), tables(group, "tables"), order(sort, "order");
    const grouping<month_group, Rows> groups(states.rows, tables.memory, db.workers, db.flights,
                                             [](const flight& f, month_group::key& key) {
                                                 key = {text(f, flight::origin), f.year, f.month};
                                                 return true;
                                             });
    const auto sorted = groups.sorted(order.memory, [](const month_group& a, const month_group& b) {
        return std::tie(a.of.origin, a.of.year, a.of.month) < std::tie(b.of.origin, b.of.year, b.of.month);
    });
    db.note("months");

    answer out{
        "months", "Flights by origin and month", {"origin", "year", "month", "flights", "cancelled", "percent"}, {}};
    for (const month_group* g : sorted)
        out.add({text_or_null(g->of.origin), g->of.year, g->of.month, g->flights, g->cancelled,
                 decimal{100.0 * static_cast<double>(g->cancelled) / static_cast<double>(g->flights)}});
    return out;
}

} // namespace flights
