// The layout of a table's rows: one block of variable length with fixed numbers first, then the texts.
//
//     +0   nulls    u32       bit c is set if column c of the type's list is empty or NA
//     +4   numbers            the members that the row type declares, each at its natural alignment
//     +n   ends     u16 x T   the end of text t, counted from the first byte of the tail
//     +s   tail               the texts one after another, without terminators; s = sizeof(Row)
//
// Invariant: ends do not decrease, and ends[T - 1] is the length of the tail. A text costs its bytes and two more;
// reading it is two loads. A stored row is not changed, so any thread that holds a link may read it.
#pragma once
#include <allot/row_manager.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

namespace flights {

inline constexpr std::size_t longest_row_text = 65'535; // the largest value of an end

/// The base of every row type. `Row` declares `numbers`, `text_names` and the enumerators of its texts.
struct row_head {
    std::uint32_t nulls = 0;

    bool is_null(std::size_t column) const { return (nulls >> column & 1u) != 0; }
};

template <std::size_t Texts> using text_ends = std::array<std::uint16_t, Texts>;

/// Text `which` of a stored row. Valid while the row has a link.
template <class Row> std::string_view text(const Row& row, std::size_t which) {
    const char* const tail = reinterpret_cast<const char*>(&row) + sizeof(Row);
    const std::size_t begin = which == 0 ? 0 : row.ends[which - 1];
    return {tail + begin, row.ends[which] - begin};
}

/// The bit of a text in `nulls`: columns are numbered with the numbers first, then the texts.
template <class Row> constexpr std::size_t text_column(std::size_t which) {
    return std::tuple_size_v<decltype(Row::numbers)> + which;
}

template <class Row> bool text_is_null(const Row& row, std::size_t which) {
    return row.is_null(text_column<Row>(which));
}

/// The bytes of a stored row, with its tail.
template <class Row> std::size_t bytes_of(const Row& row) { return sizeof(Row) + row.ends[Row::texts - 1]; }

/// A row that is being read: the fixed part by value, the texts still in the read buffer.
template <class Row> struct draft {
    Row fixed{};
    std::array<std::string_view, Row::texts> text{};
};

/// Stores a draft as a row that `from` allocates: a row manager, or a thread's handle of it.
template <class Row, class Allocates> allot::row_ptr<Row> store(Allocates& from, draft<Row>& row) {
    std::size_t end = 0;
    for (std::size_t t = 0; t != Row::texts; ++t)
        row.fixed.ends[t] = static_cast<std::uint16_t>(end += row.text[t].size());
    void* const place = from.allocate(sizeof(Row) + end, Row::type);
    Row* const stored = ::new (place) Row(row.fixed);
    char* tail = static_cast<char*>(place) + sizeof(Row);
    for (std::string_view t : row.text) {
        if (!t.empty()) std::memcpy(tail, t.data(), t.size());
        tail += t.size();
    }
    return allot::row_ptr<Row>::adopt(stored);
}

} // namespace flights
