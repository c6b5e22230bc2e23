// A slow disk, which tests/luck.py preloads into tests: each call that reads, writes or allocates a part of a file, or
// enters io_uring, sleeps 1 to 20 ms first.
#include <atomic>
#include <cstdarg>
#include <ctime>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/types.h>

static void sleep_a_while() {
    static std::atomic<unsigned> calls{0};
    const unsigned random = ++calls * 2'654'435'761u >> 8;
    const timespec time{0, 1'000'000 + long{random % 19'000'000}};
    nanosleep(&time, nullptr);
}

#define SLOW(result, name, parameters, arguments)                                                                      \
    extern "C" result name parameters {                                                                                \
        static const auto next = reinterpret_cast<result(*) parameters>(dlsym(RTLD_NEXT, #name));                      \
        return sleep_a_while(), next arguments;                                                                        \
    }                                                                                                                  \
    static_assert(true)
#define SLOW_BYTES(name, pointer) SLOW(ssize_t, name, (int f, pointer p, size_t n, off_t at), (f, p, n, at))
#define SLOW_PARTS(name) SLOW(ssize_t, name, (int f, const struct iovec* parts, int n, off_t at), (f, parts, n, at))
#define SLOW_RANGE(name) SLOW(int, name, (int f, int mode, off_t at, off_t n), (f, mode, at, n))

SLOW_BYTES(pread, void*);
SLOW_BYTES(pread64, void*);
SLOW_BYTES(pwrite, const void*);
SLOW_BYTES(pwrite64, const void*);
SLOW_PARTS(preadv);
SLOW_PARTS(preadv64);
SLOW_PARTS(pwritev);
SLOW_PARTS(pwritev64);
SLOW_RANGE(fallocate);
SLOW_RANGE(fallocate64);
SLOW(int, io_uring_submit_and_wait, (struct io_uring * ring, unsigned n), (ring, n));

extern "C" long syscall(long number, ...) {
    static const auto next = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
    va_list list;
    va_start(list, number);
    long a[6];
    for (long& of : a) of = va_arg(list, long);
    va_end(list);
    if (number == SYS_io_uring_enter) sleep_a_while();
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
