// Pins each thread of a workload to a core, since unpinned threads measure the scheduler. With fewer cores than threads
// nothing is pinned.
#pragma once

#include <harness/timed.hpp>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include <sched.h>

namespace bench {

// The processors this process may use, those of one core apart where there are enough cores.
inline std::vector<int> own_processors() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
    std::vector<int> first, others;
    std::vector<std::string> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/core_cpus_list");
        std::string core = "cpu" + std::to_string(cpu);
        std::getline(file, core);
        bool known = false;
        for (const auto& c : cores) known = known || c == core;
        (known ? others : first).push_back(cpu);
        cores.push_back(core);
    }
    first.insert(first.end(), others.begin(), others.end());
    return first;
}

// The calling thread stays on the n-th of them.
inline void pin(std::size_t n, std::size_t threads) {
    static const std::vector<int> processors = own_processors();
    if (processors.size() < threads || traced_operations != nullptr) return; // traced: all stay with the tracer
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[n], &one);
    sched_setaffinity(0, sizeof one, &one);
}

} // namespace bench
