// Whole rows of lineitem and orders in few bytes: keys and money in 32 bits, days in 16, texts of few values as codes.
#pragma once

#include "../data/checksum.hpp"
#include "text_codes.hpp"
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tpch {

/// Throws: std::runtime_error where the number does not fit.
template <class To> To narrow(std::int64_t n) {
    if (n != static_cast<To>(n))
        throw std::runtime_error("tpch: a number is too large for a row: " + std::to_string(n));
    return static_cast<To>(n);
}

struct line {
    std::int32_t order, part, supplier, price;
    std::int16_t quantity, ship_date, commit_date, receipt_date;
    std::int8_t number, discount, tax;
    std::uint8_t return_flag, status, instruct, mode, comment; // codes, and the bytes of the comment behind the row
    std::size_t tail() const { return comment; }
};
static_assert(sizeof(line) == 32);

struct order {
    std::int32_t key, customer, total_price;
    std::int16_t date, ship_priority;
    std::uint8_t status, priority, clerk, comment; // codes, and the bytes of both texts behind the row
    std::size_t tail() const { return std::size_t{clerk} + comment; }
};
static_assert(sizeof(order) == 20);

inline const std::vector<const char*> line_columns{"l_orderkey",    "l_partkey",       "l_suppkey",  "l_linenumber",
                                                   "l_quantity",    "l_extendedprice", "l_discount", "l_tax",
                                                   "l_returnflag",  "l_linestatus",    "l_shipdate", "l_commitdate",
                                                   "l_receiptdate", "l_shipinstruct",  "l_shipmode", "l_comment"};
inline const std::vector<const char*> order_columns{"o_orderkey",   "o_custkey",      "o_orderstatus",
                                                    "o_totalprice", "o_orderdate",    "o_orderpriority",
                                                    "o_clerk",      "o_shippriority", "o_comment"};

/// The codes of all columns of few texts, of one run.
struct row_codes {
    text_codes return_flag, line_status, instruct, mode, order_status, priority;
};

/// Calls f(line, comment) for each row of a chunk of line_columns.
class line_reader {
  public:
    explicit line_reader(row_codes& c)
        : flag_(c.return_flag), status_(c.line_status), instruct_(c.instruct), mode_(c.mode) {}
    template <class F> void operator()(const chunk& from, F&& f) {
        const auto orders = from.longs(0), parts = from.longs(1), suppliers = from.longs(2), quantities = from.longs(4),
                   prices = from.longs(5), discounts = from.longs(6), taxes = from.longs(7);
        const auto numbers = from.ints(3), ships = from.ints(10), commits = from.ints(11), receipts = from.ints(12);
        for (std::size_t i = 0; i != from.rows(); ++i) {
            const std::string_view comment = from.text(15, i);
            f(line{narrow<std::int32_t>(orders[i]), narrow<std::int32_t>(parts[i]), narrow<std::int32_t>(suppliers[i]),
                   narrow<std::int32_t>(prices[i]), narrow<std::int16_t>(quantities[i]), narrow<std::int16_t>(ships[i]),
                   narrow<std::int16_t>(commits[i]), narrow<std::int16_t>(receipts[i]), narrow<std::int8_t>(numbers[i]),
                   narrow<std::int8_t>(discounts[i]), narrow<std::int8_t>(taxes[i]), flag_(from.text(8, i)),
                   status_(from.text(9, i)), instruct_(from.text(13, i)), mode_(from.text(14, i)),
                   narrow<std::uint8_t>(static_cast<std::int64_t>(comment.size()))},
              comment.data());
        }
    }

  private:
    code_reader flag_, status_, instruct_, mode_;
};

/// Calls f(order, texts) for each row of a chunk of order_columns.
class order_reader {
  public:
    explicit order_reader(row_codes& c) : status_(c.order_status), priority_(c.priority) {}
    template <class F> void operator()(const chunk& from, F&& f) {
        const auto keys = from.longs(0), customers = from.longs(1), totals = from.longs(3);
        const auto dates = from.ints(4), ship_priorities = from.ints(7);
        for (std::size_t i = 0; i != from.rows(); ++i) {
            const std::string_view clerk = from.text(6, i), comment = from.text(8, i);
            const order o{narrow<std::int32_t>(keys[i]),
                          narrow<std::int32_t>(customers[i]),
                          narrow<std::int32_t>(totals[i]),
                          narrow<std::int16_t>(dates[i]),
                          narrow<std::int16_t>(ship_priorities[i]),
                          status_(from.text(2, i)),
                          priority_(from.text(5, i)),
                          narrow<std::uint8_t>(static_cast<std::int64_t>(clerk.size())),
                          narrow<std::uint8_t>(static_cast<std::int64_t>(comment.size()))};
            std::array<char, 512> texts;
            std::memcpy(texts.data(), clerk.data(), clerk.size());
            std::memcpy(texts.data() + clerk.size(), comment.data(), comment.size());
            f(o, texts.data());
        }
    }

  private:
    code_reader status_, priority_;
};

/// The hashes that expected/ is made of.
inline std::uint64_t hash_of(const line& l, const char* comment, const row_codes& codes) {
    row_hash h;
    for (const std::int64_t n : {l.order, l.part, l.supplier}) h.add(n);
    for (const std::int64_t n :
         {std::int64_t{l.number}, std::int64_t{l.quantity}, std::int64_t{l.price}, std::int64_t{l.discount},
          std::int64_t{l.tax}, codes.return_flag.hash(l.return_flag), codes.line_status.hash(l.status),
          std::int64_t{l.ship_date}, std::int64_t{l.commit_date}, std::int64_t{l.receipt_date},
          codes.instruct.hash(l.instruct), codes.mode.hash(l.mode)})
        h.add(n);
    h.add(std::string_view(comment, l.comment));
    return h.value();
}
inline std::uint64_t hash_of(const order& o, const char* texts, const row_codes& codes) {
    row_hash h;
    for (const std::int64_t n : {std::int64_t{o.key}, std::int64_t{o.customer}, codes.order_status.hash(o.status),
                                 std::int64_t{o.total_price}, std::int64_t{o.date}, codes.priority.hash(o.priority)})
        h.add(n);
    h.add(std::string_view(texts, o.clerk));
    h.add(std::int64_t{o.ship_priority});
    h.add(std::string_view(texts + o.clerk, o.comment));
    return h.value();
}

} // namespace tpch
