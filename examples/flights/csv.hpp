// A reader of CSV (RFC 4180, 2005), block by block: quoted fields with commas, newlines and doubled quotes, LF or CRLF,
// the last newline optional. Errors are reported by line number; other lines are read.
//
// `source` hands out blocks of whole records to any number of threads. It reads and cuts the file under a lock (one
// memchr per record); all other work is done outside. Blocks are buffers, charged to the given account. A quoted field
// may span lines, up to 64 KiB: a quote that stays open longer makes one bad line.
#pragma once
#include "csv_file.hpp"
#include "progress.hpp"
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace flights::csv {

inline constexpr std::size_t longest_record = 65'535;
inline constexpr std::size_t max_columns = 64;

/// The errors of a line.
enum class flaw { none, field_count, open_quote, stray_quote, text_after_quote, too_long, not_a_number, out_of_range };
const char* explain(flaw what);

struct bad_line {
    std::uint64_t line = 0;
    flaw what = flaw::none;
    std::string_view column; // of the row type's list; empty: the whole line
};

/// Counts bad lines and keeps the first few of them.
class bad_lines {
  public:
    static constexpr std::size_t kept = 5;

    void add(const bad_line& bad);
    void add_all(const bad_lines& other);
    std::uint64_t count() const { return count_; }
    const bad_line* begin() const { return first_.data(); }
    const bad_line* end() const { return first_.data() + (count_ < kept ? count_ : kept); }

  private:
    std::uint64_t count_ = 0;
    std::array<bad_line, kept> first_{}; // by line number
};

struct field {
    std::string_view text;
    bool quoted = false;

    bool is_null() const { return !quoted && (text.empty() || text == "NA"); }
};

struct record {
    std::array<field, max_columns> fields;
    std::size_t count = 0;
};

/// The byte after the record that begins at `at`; null if its end is not in these bytes and more may come.
char* record_end(char* at, char* end, bool more_may_come);

/// Splits a record with its newline, in place: doubled quotes become single ones.
flaw split(char* begin, char* end, record& out);

/// Parses a number that fills the whole text. Integers may end in ".0", as in tables that were converted from floats.
template <class Number> flaw read_number(std::string_view text, Number& out) {
    const char* const end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, out);
    if (error == std::errc::result_out_of_range) return flaw::out_of_range;
    if (error != std::errc{}) return flaw::not_a_number;
    if constexpr (std::is_integral_v<Number>)
        if (stop != end && *stop == '.')
            for (++stop; stop != end && *stop == '0';) ++stop;
    return stop == end ? flaw::none : flaw::not_a_number;
}

/// Whole records of the file, in memory that one thread owns.
struct block {
    explicit block(const block_memory& from) : bytes(from.allocate()) {}

    char* begin() { return reinterpret_cast<char*>(bytes.data()); }
    char* end() { return begin() + size; }

    allot::buffer bytes;
    std::size_t size = 0;
    std::size_t lines = 0;        // the number of line ends: about the number of its rows
    std::uint64_t first_line = 0; // counted from 1, the header included
    std::size_t sequence = 0;     // counted from 0
};

class source {
  public:
    /// Opens the file and reads its header. Throws input_error.
    source(std::string path, const block_memory& memory, progress& shown);
    ~source();
    source(const source&) = delete;
    source& operator=(const source&) = delete;

    /// The columns of the header, in the order of the file.
    const std::vector<std::string>& columns() const { return columns_; }
    const std::string& path() const { return path_; }
    std::uint64_t bytes_read() const { return bytes_read_; }

    /// Fills `out` with the next records; false at the end of the file. Threads: any.
    bool next(block& out);

  private:
    std::size_t fill(char* at, std::size_t room);
    void read_header();

    std::string path_;
    progress& shown_;
    file file_;
    bool at_end_ = false;
    std::uint64_t bytes_read_ = 0;
    std::uint64_t line_ = 1;
    std::size_t sequence_ = 0;
    std::mutex lock_;
    block carried_; // read, not yet handed out
    std::vector<std::string> columns_;
};

} // namespace flights::csv
