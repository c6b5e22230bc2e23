// The kinds of rows, and what is written into them: each word by its address and the row's number, so that a row that
// another one overlaps, or that was freed under its holder, shows.
//
// Of rows on a device all that is written stands in host memory that is laid over the device's range (record::apart).
// Rows of the kinds linked and ending start with a head that counts their holders; others have one holder. Of a large
// row both ends and a word in each 4 KiB are written. Threads: what is shared is only read, but for the head's count.
#pragma once

#include <soak/random.hpp>
#include <soak/trouble.hpp>

#include <allot/core/row_type.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace soak {

enum kind : unsigned char { bytes_only, named, aligned, sealed, linked, ending, kinds };

constexpr bool has_head(kind k) noexcept { return k >= linked; }

struct row_head {
    std::atomic<std::uint32_t> holders;
    std::uint32_t finalized;
    std::atomic<std::uint64_t>* ended; // counts destructors
    std::uint64_t mark;                // by the address; 0 once it was destroyed

    static std::uint64_t mark_of(const void* row) noexcept { return mix(reinterpret_cast<std::uintptr_t>(row)) | 1; }
};
inline row_head& head_of(void* row) noexcept { return *std::launder(static_cast<row_head*>(row)); }

inline void end_row(void* row) noexcept {
    row_head& head = head_of(row);
    expect(head.mark == row_head::mark_of(row), "a destructor ran twice, or on no row", row);
    expect(head.holders.load() == 0, "a destructor ran while somebody held the row", row);
    expect(head.finalized != 0, "a destructor ran on a row that was not finalized", row);
    head.mark = 0;
    head.ended->fetch_add(1, std::memory_order_relaxed);
}

// The address tells a type apart: one table for the program.
inline const allot::row_type row_types[kinds] = {{"bytes"},
                                                 {"named"},
                                                 {"aligned", nullptr, 64},
                                                 {"sealed", nullptr, 0, allot::row_check::crc32c},
                                                 {"linked", nullptr, 8},
                                                 {"ending", &end_row, 8}};

// One link of a row, and what must stand in it.
struct record {
    unsigned char* at = nullptr;
    std::size_t bytes = 0; // written
    std::size_t asked = 0;
    std::uint64_t number = 0;
    kind of = bytes_only;
    std::ptrdiff_t apart = 0; // from the row to where its bytes are written

    unsigned char* bytes_at() const noexcept { return at + apart; }
};
inline row_head& head_of(const record& row) noexcept { return head_of(row.bytes_at()); }

namespace detail {

inline constexpr std::size_t word = sizeof(std::uint64_t), ends = 2048, stride = 4096;

inline std::uint64_t word_at(const record& row, std::size_t at) noexcept {
    return mix(row.number ^ (reinterpret_cast<std::uintptr_t>(row.at) + at));
}
// Calls with each part of the row that is looked at: offset and bytes.
template <class Visit> void visit_parts(const record& row, Visit visit) {
    std::size_t at = has_head(row.of) ? sizeof(row_head) : 0;
    for (; at + word <= row.bytes; at += word) {
        visit(at, word);
        if (at >= ends && at + ends + stride < row.bytes) at += stride - word;
    }
    if (at < row.bytes) visit(at, row.bytes - at);
}

} // namespace detail

inline void write_row(const record& row) {
    detail::visit_parts(row, [&](std::size_t at, std::size_t n) {
        const std::uint64_t value = detail::word_at(row, at);
        std::memcpy(row.bytes_at() + at, &value, n);
    });
}
inline void look_at_row(const record& row, const char* when) {
    detail::visit_parts(row, [&](std::size_t at, std::size_t n) {
        const std::uint64_t value = detail::word_at(row, at);
        expect(std::memcmp(row.bytes_at() + at, &value, n) == 0, when, row.at);
    });
    if (has_head(row.of))
        expect(head_of(row).mark == row_head::mark_of(row.bytes_at()) && head_of(row).holders.load() != 0, when,
               row.at);
}
inline void look_for_zeros(const record& row) {
    detail::visit_parts(row, [&](std::size_t at, std::size_t n) {
        const std::uint64_t zero = 0;
        expect(std::memcmp(row.bytes_at() + at, &zero, n) == 0, "a new row is not wiped", row.at);
    });
}

} // namespace soak
