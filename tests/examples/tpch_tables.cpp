// The tables of the tpch example: wrong files and names are reported, and a scan that is refused memory leaves nothing.
//
//     tpch_tables SCRATCH [FOLDER of parquet files]
#include "data/files.hpp"
#include "data/table.hpp"

#include <allot/ledger/tree.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/task.hpp>
#include <allot/use/spark.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;
using columns = std::vector<const char*>;

static int failures = 0;
static bool check(bool good, const std::string& what) {
    if (!good) ++failures, std::printf("wrong: %s\n", what.c_str());
    return good;
}

struct blocks_set : allot::policies<allot::ledger::tree> {};
using file_blocks = allot::chunk_arena<blocks_set>;

/// Reads a table, and adds up numbers and lengths of texts.
static std::int64_t sum_of(const tpch::table& t, const columns& names, tpch::query_memory& m, allot::account& by,
                           std::size_t chunk_rows = 100) {
    static allot::heap_memory heap;
    tpch::chunk rows{allot::buffer_memory{heap}, by, t.types(names), chunk_rows};
    std::int64_t sum = 0;
    for (std::size_t p = 0; p != t.parts(); ++p)
        for (const auto scan = t.read(p, 0, t.rows_of(p), names, m); scan->next(rows);)
            for (std::size_t c = 0; c != names.size(); ++c)
                for (std::size_t row = 0; row != rows.rows(); ++row)
                    sum += rows.type(c) == tpch::column_type::number32   ? rows.ints(c)[row]
                           : rows.type(c) == tpch::column_type::number64 ? rows.longs(c)[row]
                                                                         : std::int64_t(rows.text(c, row).size());
    return sum;
}

struct memory {
    allot::account all{allot::name{"all"}, allot::limit{64_MiB}};
    file_blocks arena{all, allot::name{"files"}};
    tpch::query_memory scans{arena};
};

static std::filesystem::path scratch;
static void write(const std::string& name, const std::string& text) {
    std::ofstream{scratch / (name + ".tbl"), std::ios::binary} << text;
}
/// What is thrown by reading all of the table; empty: nothing.
static std::string error_of(const std::string& name, const columns& names = {}) {
    memory m;
    try {
        const auto t = tpch::open_table(scratch, name.c_str());
        sum_of(*t, names.empty() ? t->columns() : names, m.scans, m.all);
        return "";
    } catch (const std::runtime_error& e) {
        check(m.arena.stats().live_blocks == 0, "blocks are left");
        return e.what();
    }
}
static void check_error(const std::string& name, const std::string& expected, const columns& names = {}) {
    const std::string found = error_of(name, names);
    check(expected.empty() ? found.empty() : found.find(expected) != found.npos, expected + ", not \"" + found + '"');
}

static void check_lines() {
    const std::string good = "1|37|O|131251.81|1996-01-02|5-LOW|Clerk#1|0|text|\n";
    const auto with = [&](const std::string& was, const std::string& is) {
        std::string line = good;
        line.replace(line.find(was), was.size(), is);
        write("orders", good + line);
    };
    with("37", "37"), check_error("orders", "");
    with("37", "3x"), check_error("orders", "orders.tbl: line 2, column o_custkey: \"3x\" is no number of 64 bits");
    with("37", ""), check_error("orders", "column o_custkey: \"\" is no number");
    with("|0|", "|3000000000|"), check_error("orders", "o_shippriority: \"3000000000\" is no number of 32 bits");
    with("131251.81", "1.234"), check_error("orders", "\"1.234\" is no number with two digits after the point");
    with("131251.81", "-"), check_error("orders", "o_totalprice");
    with("131251.81", "1.-2"), check_error("orders", "o_totalprice");
    with("1996-01-02", "1995-02-29"), check_error("orders", "column o_orderdate: \"1995-02-29\" is no date");
    with("1996-01-02", "1995-2-29"), check_error("orders", "is no date");
    with("|text|", "|text"), check_error("orders", "line 2, column o_comment: the line ends before this field");
    with("|text|", "|"), check_error("orders", "line 2, column o_comment");
    with("|text|", "|text|more|"), check_error("orders", "line 2: more than the 9 fields");
    with("text", std::string(70'000, 'x')), check_error("orders", "line 2: longer than 64 KiB");
    with("37", "3x"), check_error("orders", "", {"o_comment", "o_orderkey"}); // not read
    with("37", "37"), check_error("orders", "o_name: there is no such column", {"o_name"});
    check_error("orders", "requested twice", {"o_orderkey", "o_orderkey"});
    check_error("order", "no order.parquet and no order.tbl");
    write("item", good), check_error("item", "item is no table of TPC-H");
    write("orders", ""), check_error("orders", "");

    memory m;
    write("orders",
          "1|2|O|-12.3|1969-12-31|5-LOW||7||\r\n1|2|O|-0.05|1992-02-29|5-LOW||7||\n1|2|O|9|1970-01-01|||7|end|");
    const auto t = tpch::open_table(scratch, "orders");
    const columns names{"o_comment", "o_orderdate", "o_totalprice"};
    allot::heap_memory heap;
    tpch::chunk rows{allot::buffer_memory{heap}, m.all, t->types(names), 2};
    const auto scan = t->read(0, 0, 3, names, m.scans);
    check(t->rows() == 3 && scan->next(rows) && rows.rows() == 2, "two rows");
    check(rows.longs(2)[0] == -1230 && rows.longs(2)[1] == -5, "decimals are hundredths");
    check(rows.ints(1)[0] == -1 && rows.ints(1)[1] == 8094, "dates are days");
    check(scan->next(rows) && rows.rows() == 1 && rows.longs(2)[0] == 900 && rows.text(0, 0) == "end", "the last row");
    check(!scan->next(rows) && !scan->next(rows) && rows.rows() == 0, "the end");
    try {
        t->read(0, 2, 2, names, m.scans);
        check(false, "rows beyond the end");
    } catch (const std::runtime_error&) {
    }
}

/// Many parts, lines across the ends of buffers, and scans from the middle.
static void check_parts() {
    std::string text;
    std::int64_t expected = 0;
    std::size_t n = 0;
    for (; text.size() < 3'500'000; ++n) {
        text += std::to_string(n) + "|name " + std::string(n % 97, 'a') + "|" + std::string(n % 1511, 'b') + "|\n";
        expected += static_cast<std::int64_t>(n + 5 + n % 97 + n % 1511);
    }
    write("region", text);
    memory m;
    const auto t = tpch::open_table(scratch, "region");
    check(t->rows() == n && t->parts() == 4, "the rows are in four parts");
    check(sum_of(*t, t->columns(), m.scans, m.all, 1000) == expected, "all rows are read");
    const columns names{"r_regionkey"};
    allot::heap_memory heap;
    tpch::chunk rows{allot::buffer_memory{heap}, m.all, t->types(names), 64};
    std::int64_t first = 0;
    for (std::size_t p = 0; p != t->parts(); first += t->rows_of(p++)) {
        const auto scan = t->read(p, 30, 70, names, m.scans);
        check(scan->next(rows) && rows.rows() == 64 && rows.longs(0)[0] == first + 30, "from the middle");
        check(scan->next(rows) && rows.rows() == 6 && rows.longs(0)[5] == first + 99, "to the middle");
        check(!scan->next(rows), "and no further");
    }
}

/// Under every limit a scan ends with the sum, or with out_of_memory, and leaves nothing. Returns: the least that is
/// enough.
static std::size_t check_limits(const tpch::table& t) {
    std::int64_t expected = 0;
    {
        memory m;
        expected = sum_of(t, t.columns(), m.scans, m.all);
    }
    std::size_t refused = 0, read = 0, least = 0;
    for (std::size_t limit = 32_KiB; read < 3; limit += 16_KiB) {
        allot::account all{allot::name{"all"}, allot::limit{limit}}, chunks{allot::name{"chunks"}};
        try {
            file_blocks arena{all, allot::name{"files"}};
            try {
                tpch::query_memory scans{arena};
                check(sum_of(t, t.columns(), scans, chunks) == expected, "the sum");
                if (read++ == 0) least = limit;
            } catch (const allot::out_of_memory&) {
                ++refused;
            }
            check(arena.stats().live_blocks == 0, "blocks are left");
        } catch (const allot::out_of_memory&) { // of the arena itself
            ++refused;
        }
        check(all.used() == 0 && chunks.used() == 0, "bytes are charged");
        check(all.peak() <= limit, "the limit");
    }
    check(refused != 0, "some limits are too small");
    return least;
}

/// Tasks share memory that is enough for one: the verdicts of the arbiter pass through Arrow.
static void check_tasks(const tpch::table& t, std::size_t limit) {
    allot::oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{limit}, tasks};
    std::int64_t expected = 0, sums[3] = {};
    {
        memory m;
        expected = sum_of(t, t.columns(), m.scans, m.all);
    }
    const auto work = [&](std::int64_t* sum) {
        allot::account mine{engine, allot::name{"query"}};
        allot::oom::task query{tasks, "query", 0, &mine};
        allot::oom::task_thread here{query};
        *sum = allot::oom::with_retry_no_split([&] {
            allot::chunk_arena<allot::use::spark> arena{mine, allot::name{"files"}};
            tpch::query_memory scans{arena};
            std::int64_t all = 0;
            for (int i = 0; i != 5; ++i) all += sum_of(t, t.columns(), scans, mine);
            return all;
        });
    };
    {
        std::vector<std::jthread> threads;
        for (std::int64_t& sum : sums) threads.emplace_back(work, &sum);
    }
    for (const std::int64_t sum : sums) check(sum == expected * 5, "the sum of a task");
    check(engine.used() == 0 && engine.peak() <= limit, "the engine's limit");
    std::printf("%zu bytes, %llu rollbacks\n", limit, static_cast<unsigned long long>(tasks.stats().rollbacks));
}

/// A file with a wrong byte: its values, or an error; no crash.
static void check_damage(const std::filesystem::path& good) {
    std::ifstream in{good, std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{in}, {}};
    int reported = 0;
    for (std::size_t i = 0; i != 60; ++i) {
        std::string wrong = bytes;
        if (i < 50) wrong[i * (bytes.size() - 1) / 49] ^= static_cast<char>(0x55);
        else wrong.resize(bytes.size() * (i - 50) / 10);
        std::ofstream{scratch / "supplier.parquet", std::ios::binary} << wrong;
        if (const std::string error = error_of("supplier"); !error.empty()) {
            ++reported;
            check(error.find("supplier.parquet: ") != error.npos, "the file is named: " + error);
        }
    }
    check(reported >= 10, "damage is reported");
    std::filesystem::remove(scratch / "supplier.parquet");
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    scratch = argv[1];
    std::filesystem::remove_all(scratch);
    std::filesystem::create_directories(scratch);
    check_lines();
    check_parts();
    check_limits(*tpch::open_table(scratch, "region"));
    if (argc > 2 && tpch::reads_parquet) {
        const std::filesystem::path folder = argv[2];
        const auto lineitem = tpch::open_table(folder, "lineitem");
        check_tasks(*lineitem, check_limits(*lineitem) * 3 / 2);
        check_damage(folder / "supplier.parquet");
    }
    std::printf("%d wrong\n", failures);
    return failures == 0 ? 0 : 1;
}
