// The columns of TPC-H's eight tables, in the order of dbgen's lines (specification 3.0.1, 1.4).
#pragma once

#include <span>
#include <string_view>

namespace tpch {

/// The values of a column, as dbgen writes them.
enum class value_kind { number32, number64, decimal, date, text };

struct column_schema {
    const char* name;
    value_kind kind;
};

/// Empty: there is no such table.
std::span<const column_schema> schema_of(std::string_view table);

} // namespace tpch
