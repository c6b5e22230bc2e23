// malloc, calloc and mmap, of which the n-th call fails, once: for rows_first_of_a_thread_without_memory. Linked to the
// program, it replaces those of glibc.
#include <cerrno>
#include <cstddef>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

extern "C" {

volatile long shim_countdown = 0; // calls that succeed before the one that fails
volatile int shim_sticky = 0;     // those behind it fail, too
volatile int shim_armed = 0;

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
}

static bool fails() {
    if (shim_armed == 0) return false;
    const long left = shim_countdown;
    shim_countdown = left - 1;
    return left == 0 || (left < 0 && shim_sticky != 0);
}

extern "C" {

void* malloc(std::size_t bytes) { return fails() ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t n, std::size_t bytes) { return fails() ? nullptr : __libc_calloc(n, bytes); }
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    if (fails()) {
        errno = ENOMEM;
        return reinterpret_cast<void*>(-1);
    }
    return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
}
