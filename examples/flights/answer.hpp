// The answer of a query: a small table of cells, to be printed, written as CSV or JSON, and compared with a file. It is
// small, so it is in ordinary memory; data that grow with the input are in row managers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flights {

/// A number that is shown with two decimals.
struct decimal {
    double value;
};

/// A value; std::monostate is null.
using cell = std::variant<std::monostate, std::int64_t, decimal, std::string>;

/// The rows of an answer that lists the first of many.
inline constexpr std::size_t most_listed = 20;

struct answer {
    std::string name;
    std::string title;
    std::vector<std::string> columns;
    std::vector<std::vector<cell>> rows;
    double seconds = 0;

    void add(std::initializer_list<cell> row) { rows.emplace_back(row); }
};

inline cell number(std::size_t n) { return static_cast<std::int64_t>(n); }
inline cell number_or_null(bool is_null, std::int64_t n) { return is_null ? cell{} : cell{n}; }
inline cell text_or_null(std::string_view text) { return text.empty() ? cell{} : cell{std::string(text)}; }
cell date(int year, int month, int day);
cell checksum_text(std::uint64_t sum);

std::string to_text(const cell& from);

/// CSV by RFC 4180, with a header and LF; null is empty.
std::string to_csv(const answer& from);

/// Compares an answer with DIRECTORY/NAME.csv. Returns the first difference; empty if they are equal.
std::string difference(const answer& from, const std::string& directory);

} // namespace flights
