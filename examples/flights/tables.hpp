// The four tables and their row types.
//
// A row type lists its number columns (name in the file's header, member) and its text columns (name). The reader finds
// columns by name, so a file may have them in any order, and others as well.
#pragma once
#include "row_layout.hpp"
#include <allot/row/moving/row_array.hpp>
#include <memory_resource>
#include <tuple>
#include <vector>

namespace flights {

template <class Row, class Number> struct number_column {
    using number = Number;
    std::string_view name;
    Number Row::* member;
};
template <class Row, class Number> number_column(const char*, Number Row::*) -> number_column<Row, Number>;

struct flight : row_head {
    std::int32_t flight_number, distance;
    std::int16_t year, dep_time, sched_dep_time, dep_delay, arr_time, sched_arr_time, arr_delay, air_time;
    std::int8_t month, day, hour, minute;
    enum text_name : std::size_t { carrier, tailnum, origin, dest, time_hour, texts };
    text_ends<texts> ends;

    static constexpr auto numbers = std::tuple{
        number_column{"year", &flight::year},
        number_column{"month", &flight::month},
        number_column{"day", &flight::day},
        number_column{"dep_time", &flight::dep_time},
        number_column{"sched_dep_time", &flight::sched_dep_time},
        number_column{"dep_delay", &flight::dep_delay},
        number_column{"arr_time", &flight::arr_time},
        number_column{"sched_arr_time", &flight::sched_arr_time},
        number_column{"arr_delay", &flight::arr_delay},
        number_column{"flight", &flight::flight_number},
        number_column{"air_time", &flight::air_time},
        number_column{"distance", &flight::distance},
        number_column{"hour", &flight::hour},
        number_column{"minute", &flight::minute},
    };
    // The positions of some of them in the list above.
    enum number_name : std::size_t {
        year_column,
        month_column,
        day_column,
        dep_time_column,
        sched_dep_column,
        dep_delay_column,
        flight_column = 9
    };
    static constexpr std::array<std::string_view, texts> text_names{"carrier", "tailnum", "origin", "dest",
                                                                    "time_hour"};
    static constexpr allot::row_type type{.name = "flight", .align = 4};

    bool cancelled() const { return is_null(dep_time_column); }
    bool has_delay() const { return !is_null(dep_delay_column); }
};

struct airline : row_head {
    enum text_name : std::size_t { carrier, airline_name, texts };
    text_ends<texts> ends;

    static constexpr std::tuple<> numbers{};
    static constexpr std::array<std::string_view, texts> text_names{"carrier", "name"};
    static constexpr allot::row_type type{.name = "airline", .align = 4};
    static constexpr std::size_t key = carrier;
};

struct plane : row_head {
    std::int16_t year, engines, seats, speed;
    enum text_name : std::size_t { tailnum, kind, manufacturer, model, engine, texts };
    text_ends<texts> ends;

    static constexpr auto numbers = std::tuple{
        number_column{"year", &plane::year},
        number_column{"engines", &plane::engines},
        number_column{"seats", &plane::seats},
        number_column{"speed", &plane::speed},
    };
    static constexpr std::array<std::string_view, texts> text_names{"tailnum", "type", "manufacturer", "model",
                                                                    "engine"};
    static constexpr allot::row_type type{.name = "plane", .align = 4};
    static constexpr std::size_t key = tailnum;
};

struct airport : row_head {
    std::int32_t altitude;
    double latitude, longitude;
    std::int8_t time_zone;
    enum text_name : std::size_t { code, airport_name, daylight_saving, zone_name, texts };
    text_ends<texts> ends;

    static constexpr auto numbers = std::tuple{
        number_column{"lat", &airport::latitude},
        number_column{"lon", &airport::longitude},
        number_column{"alt", &airport::altitude},
        number_column{"tz", &airport::time_zone},
    };
    static constexpr std::array<std::string_view, texts> text_names{"faa", "name", "dst", "tzone"};
    static constexpr allot::row_type type{.name = "airport", .align = 8};
    static constexpr std::size_t key = code;
};

/// Appends a row to an array, which takes over its link.
template <class Set, class Row> void append(allot::row_array<Set>& to, allot::row_ptr<Row> row) {
    to.push_back(row.get()); // throws: the link is still the caller's
    static_cast<void>(row.detach());
}

/// Moves all rows of an array, with their links, to the end of another one.
template <class Set> void move_rows(allot::row_array<Set>& from, allot::row_array<Set>& to) {
    auto rows = from.lock();
    while (!rows.rows().empty()) {
        std::size_t moved = 0;
        while (moved != rows.rows().size() && to.try_push_back(rows.rows()[moved])) ++moved;
        rows.take_front(moved);
        if (rows.rows().empty()) return;
        to.push_back(rows.rows().front()); // waits for memory, or throws
        rows.take_front(1);
    }
}

/// Calls fn(row) for each row of an array.
template <class Row, class Set, class Fn> void each_row(const allot::row_array<Set>& rows, Fn fn) {
    for (void* const row : rows.read()) fn(*static_cast<Row*>(row));
}

/// The rows of a table, in the order of the file, in one chunk per block of the file. Threads read, and later process,
/// one chunk at a time (morsel-driven parallelism, Leis et al. 2014). `Rows`: their row manager.
template <class Row, class Rows> class table {
  public:
    using chunk = allot::row_array<typename Rows::set>;

    /// `lists`: the row manager of the chunks themselves, with `memory` for the list of them.
    table(Rows& rows, Rows& lists, std::pmr::memory_resource& memory) : rows_(rows), lists_(lists), chunks_(&memory) {}

    std::size_t chunks() const { return chunks_.size(); }
    const chunk& operator[](std::size_t at) const { return *chunks_[at]; }
    chunk& operator[](std::size_t at) { return *chunks_[at]; }
    /// The chunk of a block, which is added. Its address does not change.
    chunk& chunk_of(std::size_t block) {
        if (chunks_.empty()) chunks_.reserve(32); // slots of the same size for small tables and their chunks
        while (chunks_.size() <= block) chunks_.push_back(lists_.template make<chunk>(rows_));
        return *chunks_[block];
    }
    std::size_t rows() const {
        std::size_t sum = 0;
        for (const auto& c : chunks_) sum += c->size();
        return sum;
    }
    template <class Fn> void each(Fn fn) const {
        for (const auto& c : chunks_) each_row<Row>(*c, fn);
    }

  private:
    Rows& rows_;
    Rows& lists_;
    std::pmr::vector<allot::row_ptr<chunk>> chunks_;
};

} // namespace flights
