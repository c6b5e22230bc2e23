// The options of an executor, and what it counts.
//
// Cost: none. Threads: values.
#pragma once

#include <allot/config.hpp>
#include <allot/core/units.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class system_memory; // sys/system_memory.hpp

struct executor_options {
    unsigned threads = 0;  // of its own; 0: those that call wait(), drain() or run_one()
    unsigned percent = 90; // of the account's limit, that what runs stays below; at most 100
    unsigned bypasses = 8; // that a task which does not fit is passed
    // That run out of memory: of one task, or one after the other of a group, without news. 1: the first one ends the
    // group, and is not split unless its request is above the limit.
    unsigned attempts = 10;
    // How long a group waits for news where none of its tasks can start, and accounts of no task hold bytes that no
    // reclaimer can free. Then it ends with an error that names the largest. 0: not at all; nor with an arbiter whose
    // rules say so.
    time_span unknown_holders_wait{10'000};
    // Where not null: tasks start only while the system has what they need, beside `system_reserve` bytes; it is read
    // when one may start, and every 100 ms while one waits. Outlives the executor.
    const system_memory* system = nullptr;
    std::size_t system_reserve = std::size_t{64} << 20;
    // And while its pressure() is at most that, in hundredths of a percent; 10,000: it is not read. Above it they start
    // one after the other.
    unsigned most_pressure = 10'000;
};

struct executor_stats {
    std::size_t waiting = 0, running = 0, parked = 0; // tasks now
    unsigned width = 0;                               // that may run at once now
    std::uint64_t started = 0;                        // attempts
    std::uint64_t done = 0;                           // tasks, with their own results or those after an error
    std::uint64_t ran_out = 0;                        // attempts without memory, but for those that ended a group
    std::uint64_t failed = 0;                         // groups
};

} // namespace allot::inline ALLOT_ABI
