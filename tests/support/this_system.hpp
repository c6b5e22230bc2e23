// What some tests ask of the system: Linux has it, qemu-user has not, which runs programs of another processor. Asked
// without allot, so that a fault of the library skips no test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <sys/mman.h>

namespace support {

inline std::size_t resident_now() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmRSS:", 0) == 0) return std::stoul(line.substr(6)) * 1024;
    return 0;
}

// The line "VmFlags:" of the mapping that has this address; empty if there is none.
inline std::string flags_of_mapping(const void* address) {
    std::ifstream maps("/proc/self/smaps");
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t from = 0, to = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) inside = from <= at && at < to;
        else if (inside && line.rfind("VmFlags:", 0) == 0) return line;
    }
    return {};
}

// Address space without memory, for as long as this object is alive; null if it is refused.
class reserved_space {
  public:
    explicit reserved_space(std::size_t bytes, int more = 0) : bytes_(bytes) {
        void* const p = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more, -1, 0);
        if (p != MAP_FAILED) at_ = p;
    }
    reserved_space(const reserved_space&) = delete;
    reserved_space& operator=(const reserved_space&) = delete;
    ~reserved_space() {
        if (at_ != nullptr) ::munmap(at_, bytes_);
    }
    void* get() const { return at_; }

  private:
    void* at_ = nullptr;
    std::size_t bytes_;
};

// False where mincore(2) refuses what is reserved and committed in part, so that nobody can count its resident bytes.
inline bool counts_resident_bytes() {
    const std::size_t page = 4096, bytes = 64 * page;
    const reserved_space some{bytes};
    unsigned char is_resident[64] = {};
    return some.get() != nullptr && ::mprotect(some.get(), bytes / 2, PROT_READ | PROT_WRITE) == 0 &&
           ::mincore(some.get(), bytes, is_resident) == 0;
}

// False where a table of the system counts as the program's memory, with an entry for each OS page that is reserved. A
// terabyte takes a minute and 8 GiB there.
inline bool reserved_space_is_free() {
    const std::size_t before = resident_now();
    const reserved_space some{std::size_t{1} << 30};
    return some.get() != nullptr && resident_now() < before + (std::size_t{2} << 20);
}
inline bool is_emulated() { return !reserved_space_is_free(); }

// False where madvise(2) has no effect, or /proc/self/smaps has other addresses than the program.
inline bool advice_has_effect() {
    const reserved_space some{std::size_t{1} << 20};
    return some.get() != nullptr && ::madvise(some.get(), std::size_t{1} << 20, MADV_DONTDUMP) == 0 &&
           flags_of_mapping(some.get()).find(" dd") != std::string::npos;
}

} // namespace support
