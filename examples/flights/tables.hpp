// The four tables and their row types.
//
// A row type lists its number columns (name in the file's header, member) and its text columns (name). The reader finds
// columns by name, so a file may have them in any order, and others as well.
#pragma once
#include "row_layout.hpp"
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

/// The rows of a table, in the order of the file, in one chunk per block of the file. Threads read, and later process,
/// one chunk at a time (morsel-driven parallelism, Leis et al. 2014).
template <class Row> struct table {
    using chunk = std::pmr::vector<allot::row_ptr<Row>>;

    explicit table(std::pmr::memory_resource& memory) : chunks(&memory) {}

    std::size_t rows() const {
        std::size_t sum = 0;
        for (const chunk& c : chunks) sum += c.size();
        return sum;
    }
    template <class Fn> void each(Fn fn) const {
        for (const chunk& c : chunks)
            for (const allot::row_ptr<Row>& row : c) fn(*row);
    }

    std::pmr::vector<chunk> chunks;
};

} // namespace flights
