// Death tests: a body runs in a child process, which is expected to abort with a message.
//
//     const death end = death_of([&] { rows.release(p); rows.release(p); });
//     CHECK(end.aborted());
//     CHECK_THAT(end.said, ContainsSubstring("released twice"));
//
// The child has the parent's memory as it was (fork), its standard error is collected, and it takes no signal
// handler of the test framework along. Call it from a program of one thread.
#pragma once

#include <csignal>
#include <cstdio>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

struct death {
    int status = 0;   // as waitpid() gives it
    std::string said; // what the child wrote to standard output and standard error

    bool survived() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
    bool aborted() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT; }
    // A sanitizer ends a process by exit code, the hardware by another signal.
    bool ended_by_force() const { return !survived(); }
};

namespace death_detail {

template <class Body> [[noreturn]] void run_child(int out, Body&& body) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    for (const int signal_number : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTERM, SIGINT})
        std::signal(signal_number, SIG_DFL);
    std::forward<Body>(body)();
    std::fflush(nullptr);
    ::_exit(0);
}

} // namespace death_detail

template <class Body> death death_of(Body&& body) {
    death end;
    int ends[2];
    std::fflush(nullptr); // or the child would write the parent's buffers again
    if (::pipe(ends) != 0) return end;
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        death_detail::run_child(ends[1], std::forward<Body>(body));
    }
    ::close(ends[1]);
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        end.said.append(buffer, static_cast<std::size_t>(n));
    ::close(ends[0]);
    if (child > 0) ::waitpid(child, &end.status, 0);
    return end;
}
