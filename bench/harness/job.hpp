// A job is one cell of the table: a workload at a size. Names W1 to W10 are those of the study of the peers.
#pragma once

#include <harness/measure.hpp>
#include <harness/sizes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace bench {

enum class work {
    pair,
    lifo,
    fifo,
    random,
    replace,
    hand_over,
    replace_2,
    larson,
    churn,
    churn_2,
    growth,
    pair_2,
    batches_2,
    link,
    constant,
    single,
    pages,
    release_all,
    bytes,
    walk,
    moving,
    resizing
};

// Counted ones run under a tracer that counts what the timed part executes, and tell no times.
enum class how { timed, counted };

enum class when { always, not_in_smoke };

using figure_names = std::array<std::string_view, most_stats>;
inline constexpr figure_names cpu_only{"CPU ns"}, cpu_wall{"CPU ns", "wall ns"},
    growing{"build ns", "replace ns", "teardown ns", "resident a payload byte"},
    tails{"allocate p50",  "allocate p99.9", "allocate max",     "release p50",
          "release p99.9", "release max",    "looks a free slot"},
    steps{"instructions", "locked"},
    worst_steps{"allocate mean", "allocate p99.9", "allocate most", "release mean", "release p99.9", "release most"},
    footprint{"charged", "charged at 1 M", "resident", "given back %"},
    walking{"step ns", "read ns", "write ns",    "cold ns",     "give back ns", "again ns", "resident a payload byte",
            "huge %",  "kept %",  "faults cold", "faults again"};

struct workload {
    work id;
    std::string_view name, about;
    figure_names stats;
    std::size_t n = 0; // rows of a growth or a batch, percent of occupancy, other heaps
    how measured = how::timed;
    bool any_size = true; // it is run at every size asked for; otherwise at 64 bytes alone
    when runs = when::always;
    std::size_t max_rounds = 10'000;
    bool few = false;       // only subjects that stand for their kind
    bool mixed_too = false; // at 64 bytes, and at mixed sizes where they are asked for
    bool noisy = false;     // n rounds are 2 n + 1
};

inline constexpr std::array workloads{
    workload{work::pair, "W1", "allocate, write, release", cpu_only},
    workload{work::lifo, "W2", "100k rows, released last first", cpu_only},
    workload{work::fifo, "W3", "100k rows, released first first", cpu_only},
    workload{work::random, "W4", "100k rows, released in random order", cpu_only},
    workload{work::replace, "W5", "1 M live rows, a random one replaced", cpu_only},
    workload{work::hand_over, "W6", "one thread allocates, another reads and releases", cpu_wall, 0, how::timed, true,
             when::always, 10'000, false, false, true},
    workload{work::replace_2, "W7", "W5 in two threads, 500k rows each, one heap", cpu_wall},
    workload{work::larson, "W8", "2 threads x 16k rows, a random one replaced; new threads take over", cpu_wall},
    workload{work::churn_2, "W9", "link-counted churn, two threads, half the rows freed by the other", cpu_wall},
    workload{work::churn, "W9S", "link-counted churn, one thread", cpu_only},
    workload{work::growth, "W10/1e4", "growth of a fresh process to 10k rows", growing, 10'000},
    workload{work::growth, "W10/1e6", "growth of a fresh process to 1 M rows", growing, 1'000'000, how::timed, true,
             when::always, 3, true},
    workload{work::growth, "W10/3e7", "growth of a fresh process to 30 M rows", growing, 30'000'000, how::timed, false,
             when::not_in_smoke, 3, true},
    workload{work::pair_2, "T1", "W1 in two threads, one heap", cpu_wall},
    workload{work::batches_2, "T2", "16 rows and back in two threads, one heap", cpu_wall, 16},
    workload{work::batches_2, "T3", "256 rows and back in two threads, one heap", cpu_wall, 256},
    workload{work::link, "link", "link and release of a live row", cpu_only, 0, how::timed, false},
    workload{work::constant, "constant", "link and release of an address outside every arena", cpu_only, 0, how::timed,
             false},
    workload{work::release_all, "release_all", "all of 1 M rows at once, a page", cpu_only, 0, how::timed, false},
    workload{work::pages, "pages/0", "a page, from request to its first row, no other heaps", cpu_only, 0, how::timed,
             false},
    workload{work::pages, "pages/100", "the same beside 100 heaps", cpu_only, 100, how::timed, false},
    workload{work::pages, "pages/4000", "the same beside 4000 heaps", cpu_only, 4000, how::timed, false},
    workload{work::single, "tail/10", "one call, ns, 10 % of the slots taken", tails, 10, how::timed, false,
             when::always, 3},
    workload{work::single, "tail/50", "one call, ns, 50 % of the slots taken", tails, 50, how::timed, false,
             when::always, 3},
    workload{work::single, "tail/90", "one call, ns, 90 % of the slots taken", tails, 90, how::timed, false,
             when::always, 3},
    workload{work::single, "tail/99", "one call, ns, 99 % of the slots taken", tails, 99, how::timed, false,
             when::always, 3},
    workload{work::single, "tail/100", "one call, ns, every slot taken", tails, 100, how::timed, false, when::always,
             3},
    workload{work::single, "most/10", "instructions of one call, 10 % of the slots taken", worst_steps, 10,
             how::counted, false, when::not_in_smoke},
    workload{work::single, "most/50", "instructions of one call, 50 % of the slots taken", worst_steps, 50,
             how::counted, false, when::not_in_smoke},
    workload{work::single, "most/90", "instructions of one call, 90 % of the slots taken", worst_steps, 90,
             how::counted, false, when::not_in_smoke},
    workload{work::single, "most/99", "instructions of one call, 99 % of the slots taken", worst_steps, 99,
             how::counted, false, when::not_in_smoke},
    workload{work::single, "most/100", "instructions of one call, every slot taken", worst_steps, 100, how::counted,
             false},
    workload{work::pair, "steps/W1", "of W1, the harness's own included", steps, 0, how::counted, false, when::always,
             10'000, true},
    workload{work::pair_2, "steps/T1", "of T1, the harness's own included", steps, 0, how::counted, false, when::always,
             10'000, true},
    workload{work::batches_2, "steps/T3", "of T3, the harness's own included", steps, 256, how::counted, false,
             when::not_in_smoke, 10'000, true},
    workload{work::churn_2, "steps/W9", "of W9, the harness's own included", steps, 0, how::counted, false,
             when::not_in_smoke, 10'000, true},
    workload{work::link, "steps/link", "of link and release", steps, 0, how::counted, false, when::always, 10'000,
             true},
    workload{work::constant, "steps/constant", "of link and release of a constant", steps, 0, how::counted, false,
             when::always, 10'000, true},
    workload{work::bytes, "bytes", "bytes of one more row of 64; what a trim gives back after all went", footprint,
             1'000'000, how::timed, false},
    workload{work::walk, "walk", "a random walk over 1 GiB of rows; growing so far, releasing all, growing again",
             walking, 0, how::timed, false, when::always, 2, false, true},
};

struct job {
    const workload* of = nullptr;
    std::size_t bytes = 0; // 0: mixed
    std::size_t scale = 1; // smoke runs divide the work by it

    bool mixed() const noexcept { return bytes == 0; }
    std::string size() const { return mixed() ? "mixed" : std::to_string(bytes); }
    std::size_t mean_bytes() const noexcept { return mixed() ? mixed_sizes::mean : bytes; }
    std::size_t largest_bytes() const noexcept { return mixed() ? mixed_sizes::largest : bytes; }
    // Of a manager.
    std::size_t limit() const noexcept {
        const std::size_t mib = std::size_t{1} << 20;
        if (of->id == work::single) return scale > 1 && of->measured == how::timed ? 4 * mib : 32 * mib;
        return of->n * mean_bytes() > 1024 * mib ? 8192 * mib : 2048 * mib;
    }

    // Operations, or rows. Counted ones are few: an instruction takes up to 35 microseconds.
    std::size_t scaled(std::size_t n, std::size_t least = 256) const noexcept {
        if (of->measured == how::counted) return scale > 1 ? 16 : 128;
        return std::max(n / scale, least);
    }
    // Rows alive at once. At most 256 MiB of them; of a growth 2 GiB.
    std::size_t live_rows() const noexcept {
        switch (of->id) {
        case work::pair:
        case work::pair_2:
        case work::link:
        case work::constant: return 1024;
        case work::hand_over: return 8192;
        case work::growth: return scaled(std::min(of->n, (std::size_t{2048} << 20) / mean_bytes()));
        case work::moving: return scaled(of->n);
        case work::walk: return scaled((std::size_t{1024} << 20) / mean_bytes());
        case work::batches_2: return of->n;
        case work::larson: return std::min(std::size_t{32'000}, (std::size_t{256} << 20) / mean_bytes());
        default: break;
        }
        const std::size_t many = of->id == work::replace || of->id == work::replace_2 ? 1'000'000 : 100'000;
        return scaled(std::min(many, (std::size_t{256} << 20) / mean_bytes()));
    }
    // What its process may take, with room to spare.
    std::size_t memory() const noexcept { return live_rows() * (mean_bytes() * 3 / 2 + 24); }
    bool large() const noexcept { return memory() > std::size_t{1} << 30; }
    // Page faults are in its figures.
    bool faults() const noexcept { return of->id == work::growth || of->id == work::walk || of->id == work::moving; }
    // About how long a subject takes, where nobody else uses the cores; for the estimate that a run begins with.
    double seconds() const noexcept {
        if (scale > 1) return 0.02;
        if (of->measured == how::counted) return of->id == work::single ? 2 : 0.6;
        switch (of->id) {
        case work::replace:
        case work::replace_2: return mixed() ? 0.4 : 0.25;
        case work::growth: return 0.1 + static_cast<double>(live_rows()) * (mixed() ? 250e-9 : 140e-9);
        case work::single: return 0.2;
        case work::bytes: return 0.5;
        case work::walk: return 3.5;
        default: return 0.06;
        }
    }
};

} // namespace bench
