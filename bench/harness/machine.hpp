// The description of the machine that results were measured on.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/utsname.h>

namespace bench {

inline std::string field_of(const char* file, const std::string& start) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(start)) {
            const auto at = line.find_first_not_of(" \t:", start.size());
            return at == line.npos ? std::string{} : line.substr(at);
        }
    return "unknown";
}

// What the system could give without swapping; very much where it does not say.
inline std::size_t available_memory() {
    const std::string text = field_of("/proc/meminfo", "MemAvailable:");
    return text.empty() || text[0] < '0' || text[0] > '9' ? ~std::size_t{0} : std::stoul(text) * 1024;
}

inline std::vector<std::pair<std::string, std::string>> machine() {
    utsname kernel{};
    uname(&kernel);
    std::string huge = field_of("/sys/kernel/mm/transparent_hugepage/enabled", "");
    if (const auto open = huge.find('['); open != huge.npos) huge = huge.substr(open + 1, huge.find(']') - open - 1);
    std::string cpu = field_of("/proc/cpuinfo", "model name");
    if (cpu == "unknown") cpu = kernel.machine;
    const std::time_t now = std::time(nullptr);
    char date[32]{};
    std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
    double load = 0;
    static_cast<void>(getloadavg(&load, 1));
    char load_text[32];
    std::snprintf(load_text, sizeof load_text, "%.1f", load);
    return {{"cpu", cpu + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads"},
            {"kernel", std::string(kernel.sysname) + " " + kernel.release},
            {"transparent huge pages", huge},
            {"memory", field_of("/proc/meminfo", "MemTotal")},
#ifdef __clang__
            {"compiler", "clang " __clang_version__},
#else
            {"compiler", "g++ " __VERSION__},
#endif
            {"date", date},
            {"load before", load_text}};
}

} // namespace bench
