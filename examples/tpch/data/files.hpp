// The two formats of files. open_table() chooses.
#pragma once

#include "table.hpp"
#include <filesystem>
#include <memory>

namespace tpch {

/// Whether this program was built with Arrow.
extern const bool reads_parquet;
std::unique_ptr<table> open_parquet(const std::filesystem::path& file);

/// The lines of dbgen. `name`: the table, whose columns are known.
std::unique_ptr<table> open_tbl(const std::filesystem::path& file, const char* name);

} // namespace tpch
