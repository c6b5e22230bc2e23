#include "../engine/rows.hpp"
#include "../engine/sorted_runs.hpp"
#include "queries.hpp"
#include <algorithm>
#include <bit>
#include <fmt/core.h>

namespace tpch::sort {

struct dated_line : line {
    std::uint64_t key() const {
        return std::uint64_t{static_cast<std::uint16_t>(ship_date)} << 40 |
               std::uint64_t{static_cast<std::uint32_t>(order)} << 8 | static_cast<std::uint8_t>(number);
    }
};

struct sort_lines {
    line_reader reads;
    run_writer<dated_line> out;
    void add(const chunk& c) {
        reads(c, [&](const line& l, const char* comment) { out.add(dated_line{l}, comment); });
    }
    sorted_run take() { return out.take(); }
};

constexpr std::size_t bytes_of_line = 64; // about

nlohmann::json run(query& q) {
    const table& lineitem = q.from["lineitem"];
    allot::account sorts{q.tasks.memory(), allot::name{"sort"}}, merges{q.tasks.memory(), allot::name{"merge"}};
    row_codes codes;
    std::vector<sorted_run> runs;
    std::mutex lock;
    // A run takes that, beside what it is written to.
    const std::size_t threads = q.in.threads(), share = q.in.share();
    const std::size_t rows = std::clamp(q.in.output() / (bytes_of_line + 16), std::size_t{4096}, std::size_t{131'072});
    const std::size_t guess = lineitem.rows() / rows * 3 / 2 + 1; // of the runs, at most: some are shorter
    const std::size_t merged = share / 4 * 3;                     // bytes of the batches of a merge
    // Smaller batches may save a merge, but not where the store would keep much for them.
    const std::size_t kept = lineitem.rows() * bytes_of_line / (least_batch / 2) * kept_for_batch;
    const std::size_t least = kept < q.in.limit() / 3 * 2 ? least_batch / 2 : least_batch;
    const std::size_t each = std::clamp(std::bit_floor(merged / guess), least, most_batch);
    scan_rows(
        q, sorts, lineitem, line_columns, rows * (bytes_of_line + 16),
        [&] { return sort_lines{line_reader{codes}, {q.in, sorts, each}}; },
        [&](sorted_run made) {
            const std::lock_guard hold(lock);
            runs.push_back(std::move(made));
        },
        rows);
    q.tasks.wait();

    const std::size_t most = std::max(merged / each, std::size_t{2}); // runs that are merged at once
    while (runs.size() > most) {
        std::vector<sorted_run> longer;
        for (std::size_t from = 0; from < runs.size(); from += most) {
            std::vector<const sorted_run*> some;
            for (std::size_t i = from; i != std::min(from + most, runs.size()); ++i) some.push_back(&runs[i]);
            q.tasks.add(
                {.name = "merge", .output = (some.size() + 2) * each},
                [&, some] {
                    return allot::oom::with_retry_no_split([&] {
                        sorted_run made;
                        batch_writer<dated_line> out{q.in, merges, each};
                        merge<dated_line>(some, {}, [&](const dated_line& l) {
                            if (out.begins_batch(l)) made.first.push_back(l.key());
                            out.add(l, tail_of(l));
                        });
                        made.batches = out.take();
                        return made;
                    });
                },
                [&, from, n = some.size()](sorted_run made) {
                    for (std::size_t i = from; i != from + n; ++i) runs[i] = {}; // no other task reads them
                    const std::lock_guard hold(lock);
                    longer.push_back(std::move(made));
                });
        }
        q.tasks.wait();
        runs = std::move(longer);
    }

    // The last merge: by ranges of keys, one after the other or side by side.
    std::vector<std::uint64_t> keys;
    for (const sorted_run& r : runs) keys.insert(keys.end(), r.first.begin(), r.first.end());
    std::sort(keys.begin(), keys.end());
    const std::size_t ranges = std::min(keys.size(), 4 * threads);
    std::vector<ordered_sum> sums(ranges);
    std::vector<const sorted_run*> all;
    for (const sorted_run& r : runs) all.push_back(&r);
    for (std::size_t i = 0; i != ranges; ++i) {
        const key_range range{i == 0 ? 0 : keys[i * keys.size() / ranges],
                              i + 1 == ranges ? 0 : keys[(i + 1) * keys.size() / ranges]};
        q.tasks.add(
            {.name = "merge", .output = all.size() * each},
            [&, range] {
                return allot::oom::with_retry_no_split([&] {
                    ordered_sum sum;
                    merge<dated_line>(all, range, [&](const dated_line& l) { sum.add(hash_of(l, tail_of(l), codes)); });
                    return sum;
                });
            },
            [&, i](const ordered_sum& sum) { sums[i] = sum; });
    }
    q.tasks.wait();
    ordered_sum sum;
    for (const ordered_sum& s : sums) sum.append(s);
    return {{"rows", sum.rows()}, {"checksum", fmt::format("{:016x}", sum.value())}};
}

} // namespace tpch::sort
