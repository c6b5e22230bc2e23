// Reads a CSV file into a table: each thread takes blocks, and stores each record as a row through its own handle of
// the row manager. Bad lines are counted and reported, and make no row.
#pragma once
#include "csv.hpp"
#include "engine.hpp"
#include "tables.hpp"
#include "team.hpp"
#include <algorithm>
#include <mutex>

namespace flights {

/// The result of reading one file.
struct file_read {
    std::string path;
    std::uint64_t bytes = 0;
    std::uint64_t rows = 0;      // those that are not kept, too
    std::uint64_t row_bytes = 0; // requested for all rows
    csv::bad_lines bad{};
};

/// The position of each column of `Row` in the file. Throws csv::input_error if one is missing.
template <class Row> class column_places {
  public:
    explicit column_places(const csv::source& file) : count(file.columns().size()) {
        auto place = [&](std::string_view name) {
            const auto at = std::find(file.columns().begin(), file.columns().end(), name);
            if (at == file.columns().end())
                throw csv::input_error(file.path() + ": no column \"" + std::string(name) + "\" in its header");
            return static_cast<std::size_t>(at - file.columns().begin());
        };
        std::size_t c = 0;
        std::apply([&](const auto&... column) { ((of[c++] = place(column.name)), ...); }, Row::numbers);
        for (std::string_view name : Row::text_names) of[c++] = place(name);
    }

    std::array<std::size_t, text_column<Row>(Row::texts)> of{};
    std::size_t count;
};

/// Converts the fields of a record to a row. On failure, `at` is the name of the column.
template <class Row>
csv::flaw read_row(const csv::record& fields, const column_places<Row>& places, draft<Row>& row, std::string_view& at) {
    if (fields.count != places.count) return csv::flaw::field_count;
    csv::flaw what = csv::flaw::none;
    std::size_t c = 0;
    auto number = [&](const auto& column) {
        const csv::field& from = fields.fields[places.of[c]];
        if (from.is_null()) {
            row.fixed.nulls |= 1u << c;
            row.fixed.*column.member = 0;
        } else if ((what = csv::read_number(from.text, row.fixed.*column.member)) != csv::flaw::none) {
            at = column.name;
        }
        ++c;
        return what == csv::flaw::none;
    };
    row.fixed.nulls = 0;
    std::apply([&](const auto&... column) { (void)(number(column) && ...); }, Row::numbers);
    if (what != csv::flaw::none) return what;
    for (std::string_view& text : row.text) {
        const csv::field& from = fields.fields[places.of[c]];
        if (from.is_null()) row.fixed.nulls |= 1u << c;
        text = from.is_null() ? std::string_view{} : from.text;
        ++c;
    }
    return csv::flaw::none;
}

/// Reads the records of a block for which keep(row) is true into a chunk of the table; counts the others.
template <class Row, class Set, class Local, class Keep>
void read_block(csv::block& block, const column_places<Row>& places, Local& local, Keep keep, std::uint64_t& others,
                csv::bad_lines& bad, allot::row_array<Set>& chunk) {
    static_cast<void>(chunk.try_reserve(block.lines + 1)); // if it cannot, append() grows it by less, or throws
    csv::record fields;
    draft<Row> row;
    std::uint64_t line = block.first_line;
    for (char* at = block.begin(); at != block.end();) {
        char* const end = csv::record_end(at, block.end(), false);
        const auto lines = static_cast<std::uint64_t>(std::count(at, end, '\n'));
        const bool blank = *at == '\n' || (*at == '\r' && end - at == 2);
        if (!blank) {
            std::string_view column;
            csv::flaw what = csv::split(at, end, fields);
            if (what == csv::flaw::none) what = read_row(fields, places, row, column);
            if (what != csv::flaw::none) bad.add({line, what, column});
            else if (keep(row)) append(chunk, store(local, row));
            else ++others;
        }
        at = end;
        line += lines;
    }
}

struct all_rows {
    template <class Row> bool operator()(const draft<Row>&) const { return true; }
};

template <class Row, class Rows, class Keep = all_rows>
file_read load(table_memory<Rows>& kept, const csv::block_memory& blocks, team& workers, const std::string& path,
               table<Row, Rows>& into, progress& shown, Keep keep = {}) {
    csv::source file(path, blocks, shown);
    const column_places<Row> places(file);
    file_read result{.path = path};
    std::mutex lock;
    workers.run([&](unsigned) {
        auto local = kept.rows.local();
        csv::block block(blocks);
        csv::bad_lines bad;
        std::uint64_t others = 0;
        while (!workers.stopping() && file.next(block)) {
            auto& chunk = [&]() -> auto& {
                const std::lock_guard held{lock};
                return into.chunk_of(block.sequence);
            }();
            read_block<Row>(block, places, local, keep, others, bad, chunk);
        }
        const std::lock_guard held{lock};
        result.bad.add_all(bad);
        result.rows += others;
    });
    result.bytes = file.bytes_read();
    result.rows += into.rows();
    into.each([&](const Row& row) { result.row_bytes += bytes_of(row); });
    return result;
}

} // namespace flights
