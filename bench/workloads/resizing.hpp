// An array of 1 MiB grows step by step to 512 MiB, and is freed. Each step writes what it has gained.
//
//   cold ms       in a fresh process, after a pause of 2 s
//   next ms       in the next process, at once
//   committed ms  again in the first process, whose allocator may have kept the memory
//   grow ms       of cold: without freeing; free ms: freeing
//   moves         steps after which the array has another address
//   faults        page faults, cold and committed
//
// Times are thread CPU time, system calls included; `cold wall ms` is not. Nothing else touches memory before. The
// pause lets a virtual machine return free memory to its host, as it does whenever it idles: the next process takes the
// memory that the first one has just freed.
#pragma once

#include <harness/isolate.hpp>
#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <harness/resident.hpp>
#include <peers/peer.hpp>

#include <allot/row_manager.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <unistd.h>

namespace bench {

inline constexpr figure_names resizing_figures{"cold ms", "next ms",     "committed ms",     "grow ms",     "free ms",
                                               "moves",   "faults cold", "faults committed", "cold wall ms"};

inline constexpr std::size_t growth_from = std::size_t{1} << 20, growth_to = std::size_t{512} << 20;
inline constexpr std::size_t growth_rounds = 9; // at least
inline constexpr unsigned growth_pause = 2;     // seconds

template <class Set> struct growing_row {
    allot::row_manager<Set> rows{allot::limit{std::size_t{2} << 30}};
    void* allocate(std::size_t bytes) { return rows.allocate(bytes); }
    void* resize(void* row, std::size_t keep, std::size_t bytes) { return rows.resize(row, keep, bytes); }
    void release(void* row) { rows.release(row); }
};
struct growing_peer {
    peer of;
    explicit growing_peer(peer p) : of(std::move(p)) {}
    void* allocate(std::size_t bytes) { return of.allocate(bytes); }
    void* resize(void* array, std::size_t, std::size_t bytes) { return of.resize(array, bytes); }
    void release(void* array) { of.release(array); }
};

struct growth_times {
    double grow, free, wall, faults, moves; // ns
};

// Ends the process where the array is refused, or has lost its bytes.
template <class Subject> growth_times grow_once(Subject& of, const job& what) {
    const std::size_t last = growth_to / what.scale, os_page = 4096;
    const std::size_t faults = page_faults();
    std::size_t moves = 0;
    const double wall = wall_ns(), begin = cpu_ns();
    auto* array = static_cast<char*>(of.allocate(growth_from));
    if (array == nullptr) std::abort();
    std::memset(array, 1, growth_from);
    for (std::size_t now = growth_from; now < last;) {
        const std::size_t next = std::min((now + now * what.of->n / 100 + os_page - 1) / os_page * os_page, last);
        auto* const grown = static_cast<char*>(of.resize(array, now, next));
        if (grown == nullptr) std::abort();
        moves += grown != array ? 1 : 0;
        array = grown;
        std::memset(array + now, 1, next - now);
        escape(array);
        now = next;
    }
    const double grown = cpu_ns();
    if (array[0] != 1 || array[growth_from - 1] != 1 || array[last / 2] != 1) std::abort();
    const double freeing = cpu_ns();
    of.release(array);
    const double end = cpu_ns(), wall_end = wall_ns();
    return {grown - begin, end - freeing, wall_end - wall, static_cast<double>(page_faults() - faults),
            static_cast<double>(moves)};
}

// `Subject` is made from `from...` in two processes, one after the other.
template <class Subject, class... From> sample run_resizing(const job& what, const From&... from) {
    const auto in_process = [&] {
        return isolated(60, [&] {
            Subject& of = *new Subject(from...); // its process ends with it
            const growth_times cold = grow_once(of, what);
            return std::array{cold, grow_once(of, what)};
        });
    };
    if (what.scale == 1) sleep(growth_pause);
    const auto first = in_process(), second = in_process();
    if (!first || !second) std::abort();
    const growth_times &cold = (*first)[0], &next = (*second)[0], &again = (*first)[1];
    const auto ms = [](double ns) { return ns / 1e6; };
    return {ms(cold.grow + cold.free),
            ms(next.grow + next.free),
            ms(again.grow + again.free),
            ms(cold.grow),
            ms(cold.free),
            cold.moves,
            cold.faults,
            again.faults,
            ms(cold.wall)};
}

} // namespace bench
