// Reads every column of all tables of a folder, and compares its checksum with the expected one:
//
//     tpch_checksums FOLDER expected/columns.sf0.001.txt
//
// Each column is read again beside the others, in chunks of another size and from the middle of each part.
#include "checksum.hpp"
#include "table.hpp"

#include <allot/ledger/tree.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace allot::literals;

namespace {

struct blocks_set : allot::policies<allot::ledger::tree> {};

struct memory {
    allot::account all{allot::name{"checksums"}, allot::limit{64_MiB}};
    allot::chunk_arena<blocks_set> arena{all, allot::name{"files"}};
    allot::heap_memory heap;
    tpch::query_memory scans{arena};
};

std::uint64_t word_of(const tpch::chunk& from, std::size_t c, std::size_t row) {
    switch (from.type(c)) {
    case tpch::column_type::number32: return static_cast<std::uint64_t>(std::int64_t{from.ints(c)[row]});
    case tpch::column_type::number64: return static_cast<std::uint64_t>(from.longs(c)[row]);
    case tpch::column_type::text: break;
    }
    return tpch::hash_of(from.text(c, row));
}

/// The checksums of these columns. Each part is read in two scans.
std::vector<tpch::ordered_sum> sums_of(const tpch::table& of, std::span<const char* const> columns, memory& m,
                                       std::size_t chunk_rows) {
    std::vector<tpch::ordered_sum> sums(columns.size());
    const std::vector<tpch::column_type> types = of.types(columns);
    tpch::chunk rows{allot::buffer_memory{m.heap}, m.all, types, chunk_rows};
    for (std::size_t p = 0; p != of.parts(); ++p) {
        const std::uint32_t n = of.rows_of(p), middle = n / 3;
        for (const auto& [first, size] : {std::pair{0u, middle}, {middle, n - middle}})
            for (const auto scan = of.read(p, first, size, columns, m.scans); scan->next(rows);)
                for (std::size_t c = 0; c != columns.size(); ++c)
                    for (std::size_t row = 0; row != rows.rows(); ++row) sums[c].add(tpch::mix(word_of(rows, c, row)));
    }
    return sums;
}

int check(const char* folder, const char* expected) {
    memory m;
    std::map<std::string, std::map<std::string, std::pair<std::uint64_t, std::string>>> tables;
    std::ifstream lines{expected};
    std::string name, column, sum;
    for (std::uint64_t rows = 0; lines >> name >> column >> rows >> sum;) tables[name][column] = {rows, sum};
    int wrong = tables.empty() ? std::printf("%s: no checksums\n", expected) : 0;
    for (const auto& [table_name, its] : tables) {
        const auto table = tpch::open_table(folder, table_name.c_str());
        const std::vector<const char*> columns = table->columns();
        const auto compare = [&](const char* column_name, const tpch::ordered_sum& found) {
            char text[20];
            std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(found.value()));
            const auto at = its.find(column_name);
            if (at != its.end() && at->second == std::pair{found.rows(), std::string{text}}) return;
            std::printf("%s: %s: %llu rows, checksum %s\n", table_name.c_str(), column_name,
                        static_cast<unsigned long long>(found.rows()), text);
            ++wrong;
        };
        const auto all = sums_of(*table, columns, m, 2048);
        for (std::size_t c = 0; c != columns.size(); ++c) {
            compare(columns[c], all[c]);
            compare(columns[c], sums_of(*table, {&columns[c], 1}, m, 1000)[0]);
        }
        if (columns.size() != its.size()) wrong += std::printf("%s: other columns\n", table_name.c_str());
    }
    std::printf("%zu tables of %s: %s\n", tables.size(), folder, wrong == 0 ? "as expected" : "not as expected");
    return wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) return std::puts("usage: tpch_checksums FOLDER EXPECTED"), 2;
    try {
        return check(argv[1], argv[2]);
    } catch (const std::exception& e) {
        std::printf("%s\n", e.what());
        return 1;
    }
}
