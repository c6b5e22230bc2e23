// Runs a measurement in its own child process, so that no subject uses a heap that another one left behind.
//
// The child is forked from a process that has allocated almost nothing. It measures, writes its results to a pipe, and
// exits without cleanup; an alarm ends it if it hangs. The parent has no threads and no arenas, so fork is safe.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <type_traits>

#include <sys/wait.h>
#include <unistd.h>

namespace bench {

// What `measure()` returned in the child; nothing when the child did not live to tell within its seconds.
template <class Measure>
auto isolated(unsigned seconds, Measure&& measure) -> std::optional<std::invoke_result_t<Measure&>> {
    using stats = std::invoke_result_t<Measure&>;
    static_assert(std::is_trivially_copyable_v<stats>);
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return {};
    const pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return {};
    }
    if (child == 0) {
        close(ends[0]);
        alarm(seconds);
        const stats answer = measure();
        const bool reported = write(ends[1], &answer, sizeof answer) == static_cast<ssize_t>(sizeof answer);
        _exit(reported ? 0 : 1);
    }
    close(ends[1]);
    stats answer{};
    const bool heard = read(ends[0], &answer, sizeof answer) == static_cast<ssize_t>(sizeof answer);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
    }
    if (!heard || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return {};
    return answer;
}

} // namespace bench
