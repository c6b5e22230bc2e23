// A job is one cell of the table: a workload at a size. Names are those of the peers' study.
#pragma once

#include <harness/sizes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace bench {

enum class workload { pair, lifo, fifo, random, replace, hand_over, replace_2, pair_2, batches_2, pages };

struct workload_name {
    workload id;
    std::string_view name, about;
    bool threaded;
};

inline constexpr std::array workload_names{
    workload_name{workload::pair, "W1", "allocate, write, release", false},
    workload_name{workload::lifo, "W2", "100k rows, released last first", false},
    workload_name{workload::fifo, "W3", "100k rows, released first first", false},
    workload_name{workload::random, "W4", "100k rows, released in random order", false},
    workload_name{workload::replace, "W5", "1 M live rows, a random one replaced", false},
    workload_name{workload::hand_over, "W6", "one thread allocates, another reads and releases", true},
    workload_name{workload::replace_2, "W7", "W5 in two threads, 500k rows each, one heap", true},
    workload_name{workload::pair_2, "T1", "W1 in two threads, one heap", true},
    workload_name{workload::batches_2, "T2", "16 rows and back in two threads, one heap", true},
    workload_name{workload::pages, "pages", "a page, from request to its first row", false},
};
inline const workload_name& name_of(workload id) noexcept {
    return *std::find_if(workload_names.begin(), workload_names.end(), [&](auto& w) { return w.id == id; });
}

struct job {
    workload work{};
    std::size_t bytes = 0; // 0: mixed
    std::size_t scale = 1; // smoke runs divide the work by it

    bool mixed() const noexcept { return bytes == 0; }
    std::string size() const { return mixed() ? "mixed" : std::to_string(bytes); }
    std::size_t mean_bytes() const noexcept { return mixed() ? mixed_sizes::mean : bytes; }
    std::size_t largest_bytes() const noexcept { return mixed() ? mixed_sizes::largest : bytes; }

    // Rows alive at once. At most 256 MiB of them.
    std::size_t live_rows() const noexcept {
        if (work == workload::pair || work == workload::pair_2 || work == workload::batches_2) return 1024;
        if (work == workload::hand_over) return 8192;
        const std::size_t many =
            work == workload::replace || work == workload::replace_2 ? 1'000'000 : 100'000;
        return std::max<std::size_t>(std::min(many, (std::size_t{256} << 20) / mean_bytes()) / scale, 256);
    }
};

} // namespace bench
