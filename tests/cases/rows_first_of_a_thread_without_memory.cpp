// The first row of a thread under heap::per_thread (the fallback) when calloc has no memory. Expected: rules.md,
// Failure: null from try_allocate, or out_of_memory. It was: a thread_local with a destructor, for which glibc's
// __cxa_thread_atexit_impl calls calloc and aborts the process where that fails ("failed to register TLS destructor:
// out of memory"). Link: failing_memory.cpp. Today: holds in every build.
#include <allot/row_manager.hpp>
#include <cstdio>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
using namespace allot::literals;
extern "C" {
extern volatile long shim_countdown;
extern volatile int shim_sticky, shim_armed;
}
struct set_ : allot::policies<> {};
static void run(long n) {
    allot::row_manager<set_> rows{allot::limit{8_MiB}};
    rows.release(rows.allocate(64)); // the manager has its pages
    std::thread worker([&] {
        shim_countdown = n;
        shim_armed = 1; // the n-th malloc, calloc or mmap from here on fails, once
        int got = 0;
        for (int i = 0; i < 100; ++i)
            if (void* p = rows.try_allocate(64)) {
                ++got;
                rows.release(p);
            }
        shim_armed = 0;
        std::printf("n %ld: %d of 100 rows\n", n, got);
    });
    worker.join();
}
int main() {
    int bad = 0;
    for (long n = 0; n < 5; ++n) {
        std::fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            run(n);
            std::fflush(stdout);
            _exit(0);
        }
        int st;
        waitpid(pid, &st, 0);
        if (WIFSIGNALED(st)) {
            std::printf("n %ld: signal %d\n", n, WTERMSIG(st));
            ++bad;
        }
    }
    return bad;
}
