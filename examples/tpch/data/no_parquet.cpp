// In place of parquet_table.cpp, where no Arrow was found.
#include "files.hpp"

namespace tpch {

const bool reads_parquet = false;
std::unique_ptr<table> open_parquet(const std::filesystem::path&) { return nullptr; }

struct arrow_part {};
query_memory::query_memory(const any_blocks& blocks) : blocks_(blocks) {}
query_memory::~query_memory() = default;
std::size_t query_memory::arrow_bytes() const noexcept { return 0; }
std::size_t query_memory::most_arrow_bytes() const noexcept { return 0; }

} // namespace tpch
