#include "process.hpp"
#include "sets.hpp"

#include <allot/core/error.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace replay {
namespace {

constexpr const char* run_one = "--run-one";

// What the process is to do, in its command line.
struct request {
    std::size_t entry = 0;
    how h;
    int sequence = -1, answer = -1; // descriptors
    unsigned seconds = 0;

    std::string text() const {
        return std::to_string(entry) + ' ' + std::to_string(h.in_threads) + ' ' + std::to_string(h.touches) + ' ' +
               std::to_string(h.looks) + ' ' + std::to_string(h.is_warm) + ' ' + std::to_string(h.limit) + ' ' +
               std::to_string(sequence) + ' ' + std::to_string(answer) + ' ' + std::to_string(seconds);
    }
    static bool parse(const char* text, request& r) {
        int in_threads = 0, touches = 0, looks = 0, is_warm = 0;
        const int n = std::sscanf(text, "%zu %d %d %d %d %zu %d %d %u", &r.entry, &in_threads, &touches, &looks,
                                  &is_warm, &r.h.limit, &r.sequence, &r.answer, &r.seconds);
        r.h.in_threads = in_threads != 0, r.h.touches = touches != 0, r.h.looks = looks != 0,
        r.h.is_warm = is_warm != 0;
        return n == 9 && r.entry < entries.size();
    }
};

} // namespace

std::span<const entry> all_sets() { return entries; }

std::optional<figures> run_in_process(const sequence& t, std::size_t set, const how& h, unsigned seconds) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return {};
    const std::string text = request{set, h, t.descriptor(), ends[1], seconds}.text();
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        ::execl("/proc/self/exe", "allot_replay", run_one, text.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(ends[1]);
    figures f;
    const bool heard = child > 0 && ::read(ends[0], &f, sizeof f) == static_cast<ssize_t>(sizeof f);
    ::close(ends[0]);
    int status = 0;
    if (child > 0) ::waitpid(child, &status, 0);
    if (!heard || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return {};
    return f;
}

bool is_run_in_process(int argc, char** argv, int& code) {
    if (argc != 3 || std::strcmp(argv[1], run_one) != 0) return false;
    code = 1;
    request r;
    if (!request::parse(argv[2], r)) return true;
    ::alarm(r.seconds);
    const sequence t{r.sequence};
    figures f;
    try {
        f = entries[r.entry].run(t, r.h);
    } catch (const allot::out_of_memory&) { // the limit is below what the set itself needs
        f.refused = t.counts().operations;
    }
    code = ::write(r.answer, &f, sizeof f) == static_cast<ssize_t>(sizeof f) ? 0 : 1;
    return true;
}

} // namespace replay
