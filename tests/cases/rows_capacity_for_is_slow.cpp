// row_manager::capacity_for(n) of a size class: expected some 5 ns, as chunk_arena's, since SQLite asks it (xRoundup)
// before each allocation. It was: ten pairs of allocate and release, since the geometry of a page was computed at each
// call. Today: holds; a time, so sanitizers and -O0 say nothing.
#include <allot/chunk_arena.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>
#include <cstdio>
#include <ctime>
using namespace allot::literals;
struct blocks : allot::policies<allot::heap::per_thread> {};
static double now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}
int main() {
    allot::row_manager<allot::use::containers> rows{allot::limit{2_GiB}};
    allot::chunk_arena<blocks> chunks{allot::limit{2_GiB}};
    bool slow = false;
    const int n = 2000000;
    std::size_t s = 0;
    volatile std::size_t bytes = 100;
    void* volatile sink;
    for (int i = 0; i < 1000; ++i) {
        void* p = rows.allocate(bytes);
        rows.release(p);
    }
    for (std::size_t b : {24ul, 100ul, 1000ul, 4368ul}) {
        bytes = b;
        double t = now();
        for (int i = 0; i < n; ++i) s += rows.capacity_for(bytes);
        const double r = now() - t;
        t = now();
        for (int i = 0; i < n; ++i) s += chunks.capacity_for(bytes);
        const double c = now() - t;
        t = now();
        for (int i = 0; i < n; ++i) {
            void* p = rows.allocate(bytes);
            sink = p;
            rows.release(p);
        }
        const double pair = now() - t;
        slow |= r > 2 * pair;
        std::printf("%5zu bytes: row_manager::capacity_for %.1f ns, chunk_arena::capacity_for %.1f ns, allocate and "
                    "release %.1f ns\n",
                    b, r * 1e9 / n, c * 1e9 / n, pair * 1e9 / n);
    }
    return s == 0 || slow;
}
