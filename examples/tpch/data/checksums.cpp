// Reads every column of all tables of a folder, and compares its checksum with the expected one; then those of the
// answers `sort` and `join`:
//
//     tpch_checksums FOLDER expected 0.001
//
// Each column is read beside the others, and alone in chunks of another size; each part in two scans.
#include "checksum.hpp"
#include "table.hpp"

#include <algorithm>
#include <allot/ledger/tree.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
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

std::string hexadecimal(std::uint64_t sum) {
    char text[20];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
    return text;
}

/// A column in the file of checksums: rows, and the sum of its values.
struct expected_sum {
    std::uint64_t rows;
    std::string sum;
    bool is(const tpch::ordered_sum& found) const { return rows == found.rows() && sum == hexadecimal(found.value()); }
};
using expected_columns = std::map<std::string, expected_sum>;

/// Returns: the number of differences.
int check_columns(const tpch::table& of, const std::string& name, const expected_columns& expected, memory& m) {
    int wrong = 0;
    const std::vector<const char*> columns = of.columns();
    if (columns.size() != expected.size()) wrong += std::printf("%s: other columns\n", name.c_str());
    const std::vector<tpch::ordered_sum> all = sums_of(of, columns, m, 2048);
    for (std::size_t c = 0; c != columns.size(); ++c) {
        const tpch::ordered_sum alone = sums_of(of, {&columns[c], 1}, m, 1000)[0];
        const auto at = expected.find(columns[c]);
        if (at != expected.end() && at->second.is(all[c]) && at->second.is(alone)) continue;
        wrong += std::printf("%s: %s: %s and %s\n", name.c_str(), columns[c], hexadecimal(all[c].value()).c_str(),
                             hexadecimal(alone.value()).c_str());
    }
    return wrong;
}

struct hashed_row {
    std::int64_t date, order, line;
    std::uint64_t hash;
    bool operator<(const hashed_row& r) const {
        return std::tie(date, order, line) < std::tie(r.date, r.order, r.line);
    }
};
/// The rows with these keys, of which the first one is a 32-bit number.
std::vector<hashed_row> hashed(const tpch::table& of, std::size_t date, std::size_t order, std::size_t line,
                               memory& m) {
    std::vector<hashed_row> all;
    const std::vector<const char*> columns = of.columns();
    tpch::chunk rows{allot::buffer_memory{m.heap}, m.all, of.types(columns)};
    std::vector<std::uint64_t> hashes(rows.capacity());
    for (std::size_t p = 0; p != of.parts(); ++p)
        for (const auto scan = of.read(p, 0, of.rows_of(p), columns, m.scans); scan->next(rows);) {
            tpch::hash_rows(rows, hashes.data());
            for (std::size_t i = 0; i != rows.rows(); ++i)
                all.push_back({rows.ints(date)[i], rows.longs(order)[i], rows.ints(line)[i], hashes[i]});
        }
    return all;
}
/// The answers to `sort` and `join`, as a line of the expected file has them.
int check_rows(const std::filesystem::path& folder, const std::string& expected, memory& m) {
    std::vector<hashed_row> lines = hashed(*tpch::open_table(folder, "lineitem"), 10, 0, 3, m);
    std::sort(lines.begin(), lines.end());
    std::map<std::int64_t, std::uint64_t> orders;
    for (const hashed_row& o : hashed(*tpch::open_table(folder, "orders"), 4, 0, 7, m)) orders[o.order] = o.hash;
    tpch::ordered_sum sorted;
    std::uint64_t joined = 0, pairs = 0;
    for (const hashed_row& l : lines) {
        sorted.add(l.hash);
        if (const auto o = orders.find(l.order); o != orders.end())
            joined += tpch::pair_hash(l.hash, o->second), ++pairs;
    }
    const auto line = [](const char* name, std::uint64_t rows, std::uint64_t sum) {
        char text[100];
        std::snprintf(text, sizeof text, R"("%s": {"rows": %llu, "checksum": "%016llx"})", name,
                      static_cast<unsigned long long>(rows), static_cast<unsigned long long>(sum));
        return std::string{text};
    };
    int wrong = 0;
    for (const std::string& answer : {line("sort", sorted.rows(), sorted.value()), line("join", pairs, joined)})
        if (expected.find(answer) == expected.npos) wrong += std::printf("not expected: %s\n", answer.c_str());
    return wrong;
}

int check(const std::filesystem::path& folder, const std::filesystem::path& expected, const std::string& scale) {
    memory m;
    std::ifstream lines{expected / ("columns.sf" + scale + ".txt")}, answers{expected / ("sf" + scale + ".json")};
    std::map<std::string, expected_columns> tables;
    std::string name, column, sum;
    for (std::uint64_t rows = 0; lines >> name >> column >> rows >> sum;) tables[name][column] = {rows, sum};
    int wrong = tables.size() != 8 ? std::printf("%s: not 8 tables\n", expected.c_str()) : 0;
    for (const auto& table : tables)
        wrong += check_columns(*tpch::open_table(folder, table.first.c_str()), table.first, table.second, m);
    wrong += check_rows(folder, {std::istreambuf_iterator<char>{answers}, {}}, m);
    std::printf("%s: %s\n", folder.c_str(), wrong == 0 ? "as expected" : "not as expected");
    return wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) return std::puts("usage: tpch_checksums FOLDER EXPECTED SCALE"), 2;
    try {
        return check(argv[1], argv[2], argv[3]);
    } catch (const std::exception& e) {
        std::printf("%s\n", e.what());
        return 1;
    }
}
