// How much memory the system, or the container that the process is in, still has: /proc/meminfo, the memory controller
// of cgroup v2 with all groups above, and PSI, the time that tasks of the system wait for memory.
//
//     allot::system_memory machine;
//     machine.available()      bytes; SIZE_MAX where nothing can be read
//
// In a group the part of its use that the kernel would drop first, file pages that nobody used lately, counts as free.
// Cost: a file of the system for each level is opened, read and closed, some 10 us each. Threads: any.
// Source: the kernel's Documentation/admin-guide/cgroup-v2.rst and accounting/psi.rst; Mars' hard limit, 2018.
#pragma once

#include <allot/config.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// Where the system says it; a test writes files of its own.
struct system_memory_paths {
    std::string meminfo = "/proc/meminfo";
    std::string cgroup = "/proc/self/cgroup"; // has the group of the process: the line "0::/path"
    std::string cgroups = "/sys/fs/cgroup";
    std::string pressure = "/proc/pressure/memory";
};

class system_memory {
  public:
    explicit system_memory(system_memory_paths paths = {}) : paths_(std::move(paths)), group_(group_of(paths_)) {}

    /// Bytes that the process could use now before the system or a limit of its container ends that.
    std::size_t available() const {
        std::size_t least = field(read(paths_.meminfo), "MemAvailable:", 1024);
        for_groups([&](const std::string& at) {
            const std::size_t most = number(read(at + "/memory.max")), used = number(read(at + "/memory.current"));
            if (most == SIZE_MAX || used == SIZE_MAX) return;
            const std::size_t file = field(read(at + "/memory.stat"), "inactive_file ", 1),
                              stays = used - (file < used ? file : 0);
            const std::size_t free = most - (stays < most ? stays : most);
            least = free < least ? free : least;
        });
        return least;
    }
    /// The limit of the container; SIZE_MAX: none.
    std::size_t limit() const {
        std::size_t least = SIZE_MAX;
        for_groups([&](const std::string& at) {
            const std::size_t most = number(read(at + "/memory.max"));
            least = most < least ? most : least;
        });
        return least;
    }
    /// The part of the last ten seconds in which some task waited for memory, in hundredths of a percent; 0: unknown.
    unsigned pressure() const {
        const std::string text = read(paths_.pressure);
        const std::size_t at = text.find("some avg10=");
        if (at == std::string::npos) return 0;
        double percent = 0;
        const char* const from = text.data() + at + 11;
        return std::from_chars(from, text.data() + text.size(), percent).ec == std::errc{} && percent >= 0
                   ? static_cast<unsigned>(percent * 100)
                   : 0;
    }

  private:
    ALLOT_OUTLINE static std::string read(const std::string& path) {
        std::string text;
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) return text;
        char piece[4096];
        for (ssize_t n = 0; (n = ::read(file, piece, sizeof piece)) > 0;)
            text.append(piece, static_cast<std::size_t>(n));
        ::close(file);
        return text;
    }
    // "max", and what is no number: SIZE_MAX.
    static std::size_t number(std::string_view text) noexcept {
        std::size_t n = 0;
        return std::from_chars(text.data(), text.data() + text.size(), n).ec == std::errc{} ? n : SIZE_MAX;
    }
    // The number behind a name at the begin of a line, times `unit`.
    ALLOT_OUTLINE static std::size_t field(std::string_view text, std::string_view name, std::size_t unit) noexcept {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at) < text.size() ? text.find('\n', at) : text.size();
            std::string_view line = text.substr(at, end - at);
            at = end + 1;
            if (!line.starts_with(name)) continue;
            line.remove_prefix(name.size());
            while (line.starts_with(' ')) line.remove_prefix(1);
            const std::size_t n = number(line);
            return n < SIZE_MAX / unit ? n * unit : SIZE_MAX;
        }
        return SIZE_MAX;
    }
    static std::string group_of(const system_memory_paths& paths) {
        const std::string text = read(paths.cgroup);
        const std::size_t at = text.starts_with("0::") ? 0 : text.find("\n0::");
        if (at == std::string::npos) return "";
        const std::size_t from = text.find("0::", at) + 3;
        std::string group = text.substr(from, text.find('\n', from) - from);
        if (group == "/" || !group.starts_with('/') || group.find("..") != std::string::npos)
            group.clear(); // seen from inside a namespace: its root
        return group;
    }
    // The group, and all above, below the mount.
    template <class Visit> void for_groups(Visit visit) const {
        for (std::string at = group_;; at.resize(at.rfind('/'))) {
            visit(paths_.cgroups + at);
            if (at.empty()) return;
        }
    }

    const system_memory_paths paths_;
    const std::string group_;
};

} // namespace allot::inline ALLOT_ABI
