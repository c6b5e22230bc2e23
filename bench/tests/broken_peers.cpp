// Libraries that must be rejected as peers, for a different reason for each value of BROKEN; and one that is accepted:
// a list over mmap, for one thread.
#include <cstddef>

#if BROKEN == 0 // nothing of interest
extern "C" int nothing_of_interest() { return 0; }

#elif BROKEN == 1 // hands on
extern "C" void* __libc_malloc(std::size_t);
extern "C" void __libc_free(void*);
extern "C" void* malloc(std::size_t n) { return __libc_malloc(n); }
extern "C" void free(void* p) { __libc_free(p); }

#elif BROKEN == 2 // crashes
extern "C" void* my_malloc(std::size_t) { __builtin_trap(); }
extern "C" void* rpmalloc(std::size_t n) { return my_malloc(n); }
extern "C" void rpfree(void*) {}

#elif BROKEN == 3 // the same row twice
static char row[4096];
extern "C" void* rpmalloc(std::size_t) { return row; }
extern "C" void rpfree(void*) {}

#else // good
#include <sys/mman.h>
static char* next = nullptr;
static char* first[9000];
extern "C" void* rpmalloc(std::size_t n) {
    if (next == nullptr)
        next = static_cast<char*>(mmap(nullptr, std::size_t{8} << 30, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    const std::size_t list = (n + 15) / 16;
    char* block = first[list];
    if (block != nullptr) first[list] = *reinterpret_cast<char**>(block);
    else {
        block = next + 16;
        next += 16 + list * 16;
        *reinterpret_cast<std::size_t*>(block - 16) = list;
    }
    return block;
}
extern "C" void rpfree(void* p) {
    char*& list = first[*reinterpret_cast<std::size_t*>(static_cast<char*>(p) - 16)];
    *static_cast<char**>(p) = list;
    list = static_cast<char*>(p);
}
#endif
