// Runs a measurement in a process of its own, so that none gets the heap that another left; and glibc's own figure of
// what it took from the system.
#pragma once

#include <algorithm>
#include <cstddef>

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

// What `measure` returns in a child process; all zeros if that fails.
template <class Result, class Measure> Result in_child(Measure measure) {
    int ends[2];
    Result result{};
    if (pipe(ends) != 0) return result;
    const pid_t child = fork();
    if (child == 0) {
        const Result mine = measure();
        const bool written = write(ends[1], &mine, sizeof mine) == sizeof mine;
        _exit(written ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &result, sizeof result) != sizeof result) result = Result{};
    close(ends[0]);
    if (child > 0) waitpid(child, nullptr, 0);
    return result;
}

// Peaks of bytes asked for and of bytes taken for them.
struct peaks {
    std::size_t asked = 0, taken = 0;

    double taken_per_asked() const { return asked != 0 ? static_cast<double>(taken) / static_cast<double>(asked) : 0; }
};

class asked_bytes {
  public:
    void add(std::size_t n) noexcept { most_ = std::max(most_, now_ += n); }
    void remove(std::size_t n) noexcept { now_ -= n; }
    std::size_t peak() const noexcept { return most_; }

  private:
    std::size_t now_ = 0, most_ = 0;
};

// The most that glibc held at once: its heap and its mappings. Looked at every 16th request.
class glibc_peak {
  public:
    void look(bool now = false) noexcept {
        if (++requests_ % 16 != 0 && !now) return;
        const struct mallinfo2 all = mallinfo2();
        most_ = std::max(most_, all.arena + all.hblkhd);
    }
    std::size_t bytes() noexcept {
        look(true);
        return most_;
    }

  private:
    std::size_t requests_ = 0, most_ = 0;
};

} // namespace bench
