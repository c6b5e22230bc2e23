#include "table.hpp"
#include "files.hpp"
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tpch {

chunk::chunk(const allot::buffer_memory& memory, allot::account& by, std::span<const column_type> types,
             std::size_t capacity)
    : memory_(memory), by_(&by), capacity_(capacity) {
    columns_.reserve(types.size());
    for (const column_type type : types) {
        const std::size_t bytes = type == column_type::number64   ? capacity * 8
                                  : type == column_type::number32 ? capacity * 4
                                                                  : (capacity + 1) * 4;
        columns_.push_back({type, memory.allocate(by, bytes), {}});
        if (type == column_type::text) offsets_to(columns_.size() - 1)[0] = 0;
    }
}

char* chunk::text_to(std::size_t column, std::size_t used, std::size_t more) {
    allot::buffer& bytes = columns_[column].bytes;
    const std::size_t needed = used + more + slack;
    if (needed > bytes.size()) {
        allot::buffer larger = memory_.allocate(*by_, std::max(needed, used == 0 ? needed : bytes.size() * 2));
        if (used != 0) std::memcpy(larger.data(), bytes.data(), used);
        bytes = std::move(larger);
    }
    return reinterpret_cast<char*>(bytes.data());
}

std::unique_ptr<table> open_table(const std::filesystem::path& folder, const char* name) {
    const std::filesystem::path parquet = folder / (std::string{name} + ".parquet");
    const std::filesystem::path tbl = folder / (std::string{name} + ".tbl");
    const bool has_parquet = std::filesystem::exists(parquet);
    if (has_parquet && reads_parquet) return open_parquet(parquet);
    if (std::filesystem::exists(tbl)) return open_tbl(tbl, name);
    if (has_parquet)
        throw std::runtime_error(parquet.string() + ": this program reads only .tbl files: it was built without Arrow "
                                                    "(pip install pyarrow, then -DALLOT_ARROW=<folder of pyarrow>)");
    throw std::runtime_error(folder.string() + ": no " + name + ".parquet and no " + name + ".tbl");
}

} // namespace tpch
