// The engine of the tpch example alone: a partition whose table does not fit is worked on by parts of its hashes, each
// row once; runs are merged in order, by ranges of keys.
#include "engine/partitions.hpp"
#include "engine/query.hpp"
#include "engine/row_table.hpp"
#include "engine/sorted_runs.hpp"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

struct numbered {
    std::int32_t number;
    std::uint8_t text; // bytes behind it
    std::size_t tail() const { return text; }
    std::uint64_t key() const { return static_cast<std::uint64_t>(number); }
};

constexpr std::int32_t rows = 60'000;
constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz";
constexpr std::uint8_t text_of(std::int32_t n) { return static_cast<std::uint8_t>(n % 26); }

int failures = 0;
void check(bool holds, const char* what) {
    if (!holds) std::fprintf(stderr, "wrong: %s\n", what), ++failures;
}

// One partition of 60,000 rows, whose table takes more than the limit of 1 MiB.
void test_ranges_of_hashes() {
    tpch::engine in{{.memory = std::size_t{1} << 20, .threads = 2}};
    const tpch::database none{"/nowhere"};
    tpch::query q{in, none, "ranges"};
    allot::account by{q.tasks.memory(), allot::name{"rows"}};
    tpch::partitions all{0};
    q.tasks.add(
        {.name = "rows"},
        [&] {
            return allot::oom::with_retry_no_split([&] {
                tpch::partition_writer<numbered> out{in, by, 0};
                for (std::int32_t n = 0; n != rows; ++n) out.add(tpch::hash_of_key(n), {n, text_of(n)}, letters);
                return out.take();
            });
        },
        [&](auto made) { all.add(std::move(made)); });
    q.tasks.wait();
    std::atomic<std::int64_t> sum{0}, count{0}, parts{0};
    tpch::work_on_partitions(
        q, by, 0, [&](std::size_t) { return all[0].rows; }, [](std::size_t) { return std::size_t{0}; },
        [&](std::size_t, const tpch::hash_range& range) {
            tpch::row_table<numbered> table{in, by, range.rows};
            for (const tpch::batch& b : all[0].all)
                tpch::for_each_row<numbered>(b, [&](const numbered& r) {
                    if (range.has(tpch::hash_of_key(r.number)))
                        table.add(tpch::hash_of_key(r.number), r, tpch::tail_of(r));
                });
            std::pair<std::int64_t, std::int64_t> some{};
            table.for_each([&](const numbered& r) {
                const bool same = std::memcmp(tpch::tail_of(r), letters, r.tail()) == 0 && r.text == text_of(r.number);
                some.first += same ? r.number : -rows, ++some.second;
            });
            return some;
        },
        [&](const std::pair<std::int64_t, std::int64_t>& some) { sum += some.first, count += some.second, ++parts; });
    q.tasks.wait();
    check(parts > 1, "the table was made in parts");
    check(count == rows && sum == std::int64_t{rows} * (rows - 1) / 2, "each row is in one part");
}

// Rows in three runs, merged by ranges of keys that begin and end anywhere.
void test_runs() {
    tpch::engine in{{.memory = std::size_t{4} << 20, .threads = 1}};
    const tpch::database none{"/nowhere"};
    tpch::query q{in, none, "runs"};
    allot::account by{q.tasks.memory(), allot::name{"rows"}};
    std::vector<tpch::sorted_run> runs;
    for (std::int32_t r = 0; r != 3; ++r) {
        tpch::run_writer<numbered> out{in, by, 8192};
        for (std::int32_t n = rows - 1; n >= 0; --n)
            if (n * 7 % 3 == r) out.add({n, text_of(n)}, letters);
        runs.push_back(out.take());
    }
    std::vector<const tpch::sorted_run*> all;
    for (const tpch::sorted_run& r : runs) all.push_back(&r);
    std::int32_t next = 0, calls = 0;
    for (const tpch::key_range range : {tpch::key_range{0, 1}, {1, 20'000}, {20'000, 20'001}, {20'001, 0}})
        tpch::merge<numbered>(all, range, [&](const numbered& r) { ++calls, next += r.number == next; });
    check(next == rows && calls == rows, "all rows come in order, once");
}

// Ranges that are planned, since the table is known to be too large; scans that are cut into eighths at most.
void test_planned_ranges() {
    const tpch::hash_range whole{4, 0, 0, 10'000};
    check(tpch::ranges_of(whole, 100, 100).size() == 1, "what fits is one range");
    const std::vector<tpch::hash_range> four = tpch::ranges_of(whole, 400, 100);
    check(four.size() == 4, "four ranges, each of a quarter");
    for (std::int64_t n = 0; n != 1000; ++n) {
        int in = 0;
        for (const tpch::hash_range& r : four) in += r.has(tpch::hash_of_key(n));
        check(in == 1, "a hash is in one range");
    }
    check(tpch::ranges_of({4, 0, 0, 100}, 400, 100).size() == 1, "few rows are not cut");

    std::vector<tpch::row_range> parts{{1000, 8192}};
    for (std::size_t i = 0; i != parts.size();) {
        const std::vector<tpch::row_range> both = tpch::halves(parts[i]);
        if (both.empty()) ++i;
        else
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i)),
                parts.insert(parts.end(), both.begin(), both.end());
    }
    std::uint64_t sum = 0;
    for (const tpch::row_range& r : parts) sum += r.rows;
    check(parts.size() == 8 && sum == 8192, "a scan is cut into eight parts, of all its rows");
}

} // namespace

int main() {
    test_planned_ranges();
    test_ranges_of_hashes();
    test_runs();
    return failures == 0 ? 0 : 1;
}
