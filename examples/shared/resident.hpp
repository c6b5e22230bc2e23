// Resident memory of the process.
#pragma once
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace shared {

/// A field of /proc/self/status that is in KiB, in bytes; 0 where there is none.
inline std::size_t status_bytes(const char* field) {
    std::FILE* const f = std::fopen("/proc/self/status", "r");
    if (f == nullptr) return 0;
    char line[256];
    std::size_t kib = 0;
    while (std::fgets(line, sizeof line, f) != nullptr)
        if (std::strncmp(line, field, std::strlen(field)) == 0) std::sscanf(line + std::strlen(field), ": %zu", &kib);
    std::fclose(f);
    return kib * 1024;
}
inline std::size_t resident_bytes() { return status_bytes("VmRSS"); }
/// The most since the last restart_peak().
inline std::size_t peak_resident_bytes() { return status_bytes("VmHWM"); }
inline void restart_peak() {
    std::FILE* const f = std::fopen("/proc/self/clear_refs", "w");
    if (f == nullptr) return;
    std::fputs("5", f);
    std::fclose(f);
}

} // namespace shared
