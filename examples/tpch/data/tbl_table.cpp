// Tables in .tbl files: the lines of dbgen, whose fields end in '|'.
//
// A part is about 1 MiB of lines. A scan reads it through 64 KiB of the query's blocks.
#include "files.hpp"
#include "schema.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace tpch {
namespace {

constexpr std::size_t part_bytes = 1024 * 1024, buffer_bytes = 64 * 1024; // no line is longer than a buffer

class input {
  public:
    explicit input(const std::filesystem::path& path) : path_(path.string()), file_(::open(path_.c_str(), O_RDONLY)) {
        if (file_ < 0) fail(std::strerror(errno));
    }
    ~input() { ::close(file_); }
    input(const input&) = delete;
    input& operator=(const input&) = delete;

    /// Returns: 0 only at the end of the file.
    std::size_t read(std::uint64_t at, char* to, std::size_t room) const {
        for (;;) {
            const ssize_t n = ::pread(file_, to, room, static_cast<off_t>(at));
            if (n >= 0) return static_cast<std::size_t>(n);
            if (errno != EINTR) fail(std::strerror(errno));
        }
    }
    [[noreturn]] void fail(const std::string& what) const { throw std::runtime_error(path_ + ": " + what); }

  private:
    std::string path_;
    int file_;
};

struct part_of_lines {
    std::uint64_t begin, end, first_line;
    std::uint32_t rows;
};

// ---- fields. They return whether the text is a value ----------------------------------------------------------

template <class Number> bool parse_number(std::string_view text, Number& to) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, to);
    return error == std::errc{} && stop == end;
}
/// "-12.3" is -1230; at most two digits after the point.
bool parse_decimal(std::string_view text, std::int64_t& to) {
    const bool negative = !text.empty() && text.front() == '-';
    if (negative) text.remove_prefix(1);
    const std::size_t point = text.find('.');
    std::string_view cents = point == text.npos ? std::string_view{} : text.substr(point + 1);
    std::uint64_t whole = 0, rest = 0;
    if (!parse_number(text.substr(0, point), whole) || whole > INT64_MAX / 100 - 1) return false;
    if (point != text.npos && (cents.size() > 2 || !parse_number(cents, rest))) return false;
    if (cents.size() == 1) rest *= 10;
    to = static_cast<std::int64_t>(whole * 100 + rest);
    if (negative) to = -to;
    return true;
}
/// "1996-03-13" is the number of days since 1970-01-01.
bool parse_date(std::string_view text, std::int32_t& to) {
    unsigned y = 0, m = 0, d = 0;
    if (text.size() != 10 || text[4] != '-' || text[7] != '-' || !parse_number(text.substr(0, 4), y) ||
        !parse_number(text.substr(5, 2), m) || !parse_number(text.substr(8, 2), d))
        return false;
    const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(y)}, std::chrono::month{m},
                                           std::chrono::day{d}};
    if (!date.ok()) return false;
    to = static_cast<std::int32_t>(std::chrono::sys_days{date}.time_since_epoch().count());
    return true;
}

column_type type_of(value_kind kind) {
    switch (kind) {
    case value_kind::number32:
    case value_kind::date: return column_type::number32;
    case value_kind::number64:
    case value_kind::decimal: return column_type::number64;
    case value_kind::text: break;
    }
    return column_type::text;
}

constexpr std::size_t not_wanted = SIZE_MAX;

class tbl_scan final : public scan {
  public:
    tbl_scan(const input& file, std::span<const column_schema> schema, std::vector<std::size_t> wanted,
             const part_of_lines& lines, std::uint32_t first, std::uint32_t n, query_memory& memory)
        : file_(file), schema_(schema), wanted_(std::move(wanted)), used_(schema.size()), at_(lines.begin),
          end_(lines.end), line_(lines.first_line), skip_(first), left_(n), blocks_(memory.blocks()) {}
    ~tbl_scan() override { blocks_.deallocate(buffer_.address); }
    tbl_scan(const tbl_scan&) = delete;
    tbl_scan& operator=(const tbl_scan&) = delete;

    bool next(chunk& to) override {
        const std::size_t n = std::min<std::size_t>(left_, to.capacity());
        to.set_rows(0);
        if (n == 0) return false;
        if (!buffer_) buffer_ = blocks_.allocate(buffer_bytes, 64);
        for (; skip_ != 0; --skip_) next_line();
        std::fill(used_.begin(), used_.end(), 0);
        for (std::size_t row = 0; row != n; ++row) read_row(to, row, next_line());
        to.set_rows(n);
        left_ -= static_cast<std::uint32_t>(n);
        return true;
    }

  private:
    [[noreturn]] void fail(const std::string& where, const std::string& what) const {
        file_.fail("line " + std::to_string(line_ - 1) + where + ": " + what);
    }
    /// A line without its end; valid until the next call.
    std::string_view next_line() {
        char* const bytes = static_cast<char*>(buffer_.address);
        for (;;) {
            char* const from = bytes + begin_;
            const void* const end = std::memchr(from, '\n', filled_ - begin_);
            const bool at_end = at_ == end_;
            if (end != nullptr || (at_end && filled_ != begin_)) {
                const char* const stop = end != nullptr ? static_cast<const char*>(end) : bytes + filled_;
                begin_ = static_cast<std::size_t>(stop - bytes) + (end != nullptr ? 1 : 0);
                ++line_;
                return {from, stop};
            }
            ++line_; // for the messages
            if (at_end) fail("", "the file has fewer lines than when it was opened");
            if (begin_ == 0 && filled_ == buffer_bytes) fail("", "longer than 64 KiB");
            --line_;
            std::memmove(bytes, from, filled_ - begin_);
            filled_ -= begin_, begin_ = 0;
            const std::size_t room =
                static_cast<std::size_t>(std::min<std::uint64_t>(buffer_bytes - filled_, end_ - at_));
            const std::size_t got = file_.read(at_, bytes + filled_, room);
            if (got == 0) file_.fail("the file is shorter than when it was opened");
            filled_ += got, at_ += got;
        }
    }
    void read_row(chunk& to, std::size_t row, std::string_view line) {
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        const char* at = line.data();
        const char* const end = at + line.size();
        for (std::size_t f = 0; f != schema_.size(); ++f) {
            const auto* const bar = static_cast<const char*>(std::memchr(at, '|', static_cast<std::size_t>(end - at)));
            if (bar == nullptr)
                fail(std::string{", column "} + schema_[f].name, "the line ends before this field, or without '|'");
            if (const std::size_t c = wanted_[f]; c != not_wanted) read_field(to, c, row, f, {at, bar});
            at = bar + 1;
        }
        if (at != end) fail("", "more than the " + std::to_string(schema_.size()) + " fields of this table");
    }
    void read_field(chunk& to, std::size_t c, std::size_t row, std::size_t f, std::string_view text) {
        const char* what = nullptr;
        switch (schema_[f].kind) {
        case value_kind::number32:
            if (!parse_number(text, to.ints_to(c)[row])) what = "is no number of 32 bits";
            break;
        case value_kind::number64:
            if (!parse_number(text, to.longs_to(c)[row])) what = "is no number of 64 bits";
            break;
        case value_kind::decimal:
            if (!parse_decimal(text, to.longs_to(c)[row])) what = "is no number with two digits after the point";
            break;
        case value_kind::date:
            if (!parse_date(text, to.ints_to(c)[row])) what = "is no date as 1996-03-13";
            break;
        case value_kind::text:
            std::memcpy(to.text_to(c, used_[f], text.size()) + used_[f], text.data(), text.size());
            used_[f] += text.size();
            to.offsets_to(c)[row + 1] = static_cast<std::uint32_t>(used_[f]);
        }
        if (what != nullptr)
            fail(std::string{", column "} + schema_[f].name, '"' + std::string{text.substr(0, 40)} + "\" " + what);
    }

    const input& file_;
    std::span<const column_schema> schema_;
    std::vector<std::size_t> wanted_; // for each field the column of the chunk
    std::vector<std::size_t> used_;   // for each field the bytes of its texts in the chunk
    std::uint64_t at_, end_, line_;   // the next bytes to read; the next line
    std::uint32_t skip_, left_;
    any_blocks& blocks_;
    allot::block buffer_;
    std::size_t begin_ = 0, filled_ = 0; // the bytes of the buffer that are no line yet
};

class tbl_table final : public table {
  public:
    tbl_table(const std::filesystem::path& path, const char* name) : file_(path), schema_(schema_of(name)) {
        if (schema_.empty()) file_.fail(std::string{name} + " is no table of TPC-H");
        const auto bytes = std::make_unique<char[]>(buffer_bytes);
        std::uint64_t at = 0, line = 1;
        part_of_lines next{0, 0, 1, 0};
        const auto end_line = [&](std::uint64_t end) {
            ++line, ++next.rows, ++rows_;
            next.end = end;
            if (end - next.begin < part_bytes) return;
            parts_.push_back(next);
            next = {end, end, line, 0};
        };
        while (const std::size_t n = file_.read(at, bytes.get(), buffer_bytes)) {
            const char* from = bytes.get();
            const char* const end = from + n;
            while (const void* const found = std::memchr(from, '\n', static_cast<std::size_t>(end - from))) {
                from = static_cast<const char*>(found) + 1;
                end_line(at + static_cast<std::uint64_t>(from - bytes.get()));
            }
            at += n;
        }
        if (at != next.end) end_line(at); // without a newline
        if (next.rows != 0) parts_.push_back(next);
    }

    std::uint64_t rows() const override { return rows_; }
    std::size_t parts() const override { return parts_.size(); }
    std::uint32_t rows_of(std::size_t part) const override { return parts_.at(part).rows; }
    std::vector<const char*> columns() const override {
        std::vector<const char*> names;
        for (const column_schema& c : schema_) names.push_back(c.name);
        return names;
    }
    std::vector<column_type> types(std::span<const char* const> columns) const override {
        std::vector<column_type> types;
        for (const char* const name : columns) types.push_back(type_of(schema_[index_of(name)].kind));
        return types;
    }
    std::unique_ptr<scan> read(std::size_t part, std::uint32_t first, std::uint32_t n,
                               std::span<const char* const> columns, query_memory& memory) const override {
        std::vector<std::size_t> wanted(schema_.size(), not_wanted);
        for (std::size_t c = 0; c != columns.size(); ++c) {
            std::size_t& to = wanted[index_of(columns[c])];
            if (to != not_wanted) file_.fail(std::string{columns[c]} + ": the column is requested twice");
            to = c;
        }
        if (first > rows_of(part) || n > rows_of(part) - first)
            file_.fail("part " + std::to_string(part) + ": rows beyond its end were requested");
        return std::make_unique<tbl_scan>(file_, schema_, std::move(wanted), parts_[part], first, n, memory);
    }

  private:
    std::size_t index_of(std::string_view name) const {
        for (std::size_t f = 0; f != schema_.size(); ++f)
            if (schema_[f].name == name) return f;
        file_.fail(std::string{name} + ": there is no such column");
    }

    input file_;
    std::span<const column_schema> schema_;
    std::vector<part_of_lines> parts_;
    std::uint64_t rows_ = 0;
};

} // namespace

std::unique_ptr<table> open_tbl(const std::filesystem::path& file, const char* name) {
    return std::make_unique<tbl_table>(file, name);
}

} // namespace tpch
