// Memory of this process as the system reports it: resident bytes (without file-backed memory such as code), the part
// of them in huge OS pages, and the number of page faults so far.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

#include <sys/resource.h>

namespace bench {

struct resident_memory {
    std::size_t bytes = 0;
    std::size_t huge = 0; // of them
};

// Exact (smaps_rollup; the counters of statm lag by some pages). It takes some memory of its own the first time.
inline resident_memory resident_now() {
    resident_memory all;
    std::ifstream file("/proc/self/smaps_rollup");
    for (std::string line; std::getline(file, line);) {
        const auto at = line.find(':');
        if (at == line.npos || !line.ends_with("kB")) continue;
        const std::string name = line.substr(0, at);
        const bool preallocated = name == "Private_Hugetlb"; // not among the anonymous ones
        if (name != "Anonymous" && name != "AnonHugePages" && !preallocated) continue;
        const std::size_t bytes = std::stoul(line.substr(at + 1)) * 1024;
        if (name != "AnonHugePages") all.bytes += bytes;
        if (name != "Anonymous") all.huge += bytes;
    }
    return all;
}
inline std::size_t resident_bytes() { return resident_now().bytes; }

// Faults that needed no disk.
inline std::size_t page_faults() noexcept {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<std::size_t>(used.ru_minflt);
}

} // namespace bench
