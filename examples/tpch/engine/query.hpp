// One run of a query: its tasks, its account, and what its operators share.
#pragma once

#include "../data/table.hpp"
#include "batches.hpp"
#include <algorithm>
#include <allot/oom/retry.hpp>
#include <allot/task/task_group.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tpch {

/// The tables of a folder, each opened when it is first asked for. Threads: any.
class database {
  public:
    explicit database(std::filesystem::path folder) : folder_(std::move(folder)) {}
    /// Throws: as open_table().
    const table& operator[](const char* name) const {
        const std::lock_guard hold(lock_);
        auto& t = tables_[name];
        if (t == nullptr) t = open_table(folder_, name);
        return *t;
    }

  private:
    std::filesystem::path folder_;
    mutable std::mutex lock_;
    mutable std::map<std::string, std::unique_ptr<table>> tables_;
};

class device_side;

struct query {
    /// Tasks of a query with a lower `place` start first, and are rolled back last.
    query(engine& e, const database& d, const char* name, std::int64_t place = 0)
        : in(e), from(d), tasks(e.run, allot::name{name}, -place),
          readers(tasks.memory(), allot::name{"readers"}, allot::chunk_bytes{std::size_t{1} << 18}) {}

    engine& in;
    const database& from;
    allot::task_group tasks;
    allot::chunk_arena<reader_blocks> readers;
    recorded_blocks<reader_blocks> reader_source{readers, in.record};
    device_side* device = nullptr; // of query 1; null: the host

    /// For the scans of one task.
    any_blocks blocks_of_readers() {
        return reader_source.with([](auto& source) { return any_blocks{source}; });
    }
};

/// Work of a scan: rows [first, first + rows) of a table. Half of it makes half of the rows, but needs the same pages
/// of the file, and reads those before it again: so a scan is cut into eighths at most.
struct row_range {
    std::uint64_t first, rows, least = rows / 8;
    int pin() const noexcept { return 0; }
    std::size_t bytes() const noexcept { return rows; }
};
inline std::vector<row_range> halves(const row_range& r) {
    const std::uint64_t half = r.rows / 2;
    if (half < r.least || half < 512) return {};
    return {{r.first, half, r.least}, {r.first + half, r.rows - half, r.least}};
}

/// Scans a table: tasks for `rows_together` rows, each of which begins again with half of its rows where
/// there is no memory for all. make() gives what rows go into: out.add(const chunk&) takes some, out.take() ends it.
/// One after the other is given to put(), on any thread. `output`: bytes that stay in use while a task runs. The tasks
/// are added; q.tasks.wait() ends with the last.
template <class Make, class Put>
void scan_rows(query& q, allot::account& by, const table& t, std::vector<const char*> columns, std::size_t output,
               Make make, Put put, std::uint64_t rows_together = 131'072) {
    const auto types = t.types(columns);
    const auto body = [&q, &by, &t, columns, types, make](const row_range& r) {
        auto out = make();
        chunk rows{q.in.buffers, by, types};
        query_memory memory{q.blocks_of_readers()};
        std::uint64_t begin = 0;
        for (std::size_t part = 0; part != t.parts() && begin < r.first + r.rows; begin += t.rows_of(part++)) {
            const std::uint64_t from = std::max(begin, r.first),
                                to = std::min(begin + t.rows_of(part), r.first + r.rows);
            if (from >= to) continue;
            const auto reads = t.read(part, static_cast<std::uint32_t>(from - begin),
                                      static_cast<std::uint32_t>(to - from), columns, memory);
            while (reads->next(rows)) out.add(rows);
        }
        return out.take();
    };
    const std::size_t reader = columns.size() * 128 * 1024;
    // Where a task ends inside a part, that is read twice: so it ends with a part, unless parts are much larger.
    std::uint64_t first = 0, last = 0;
    const auto add = [&](std::uint64_t rows) {
        q.tasks.add(
            {.name = by.name(), .output = output, .overhead = reader},
            [&q, body, r = row_range{first, rows}] {
                std::vector<row_range> all{r};
                return q.in.attempt([&] { return allot::oom::with_retry(all, halves, body); });
            },
            [put](auto made) mutable {
                for (auto& m : made) put(std::move(m));
            });
        first += rows;
    };
    for (std::size_t part = 0; part != t.parts(); ++part) {
        last += t.rows_of(part);
        while (last - first >= 2 * rows_together) add(rows_together);
        if (last - first > rows_together) add((last - first + 1) / 2);
        if (last - first >= rows_together / 2 + 1 || part + 1 == t.parts()) {
            if (last != first) add(last - first);
        }
    }
}

/// Work of a join or an aggregation: the rows of a partition whose hashes go on with these bits. Half of them need half
/// of the memory; all batches are read for each.
struct hash_range {
    unsigned bits, depth; // bits of the partition; bits behind them
    std::uint64_t value;
    std::size_t rows;
    int pin() const noexcept { return 0; }
    std::size_t bytes() const noexcept { return rows; }
    bool has(std::uint64_t hash) const noexcept { return depth == 0 || hash << bits >> (64 - depth) == value; }
};
inline std::vector<hash_range> finer(const hash_range& r) {
    if (r.depth == 16 || r.rows < 256) return {};
    return {{r.bits, r.depth + 1, 2 * r.value, r.rows / 2 + 1}, {r.bits, r.depth + 1, 2 * r.value + 1, r.rows / 2 + 1}};
}

/// The ranges of a partition whose tables take at most `share` bytes each, if that of the whole takes `bytes`.
inline std::vector<hash_range> ranges_of(const hash_range& whole, std::size_t bytes, std::size_t share) {
    std::vector<hash_range> all{whole};
    for (; bytes > share; bytes /= 2) {
        std::vector<hash_range> next;
        for (const hash_range& r : all)
            for (const hash_range& half : finer(r)) next.push_back(half);
        if (next.empty()) break;
        all = std::move(next);
    }
    return all;
}

/// A task for each partition: body(index, range) works on its rows of a range, and returns what is given to put(). One
/// range after the other, if the table of all does not fit into three quarters of a thread's share.
/// `rows`, `bytes`: rows and bytes of the table that a body makes for partition i. The tasks are added.
template <class Rows, class Bytes, class Body, class Put>
void work_on_partitions(query& q, allot::account& by, unsigned bits, Rows rows, Bytes bytes, Body body, Put put) {
    for (std::size_t i = 0; i != std::size_t{1} << bits; ++i) {
        if (rows(i) == 0) continue;
        const auto ranges = ranges_of({bits, 0, 0, rows(i)}, bytes(i), q.in.share() / 4 * 3);
        q.tasks.add(
            {.name = by.name(), .output = bytes(i) / ranges.size()},
            [&q, body, i, ranges] {
                std::vector<hash_range> all = ranges;
                return q.in.attempt([&] {
                    return allot::oom::with_retry(all, finer, [&](const hash_range& one) { return body(i, one); });
                });
            },
            [put](auto made) mutable {
                for (auto& m : made) put(std::move(m));
            });
    }
}

} // namespace tpch
