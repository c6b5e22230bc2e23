// try_resize() of a small row that must move, 24 -> 40 -> 80 bytes: expected about the cost of allocate + copy +
// release by hand. It was: 4 times that. Today: holds; a time, so sanitizers and -O0 say nothing, and checked builds
// test more.
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>
#include <cstdio>
#include <cstring>
#include <ctime>
using namespace allot::literals;
static double now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}
int main() {
    allot::row_manager<allot::use::containers> C{allot::limit{1_GiB}};
    const int n = 2000000;
    void* volatile sink;
    bool slow = false;
    for (int k = 0; k < 2; ++k) {
        double t = now();
        for (int i = 0; i < n; ++i) {
            void* p = C.try_allocate(24);
            std::memset(p, 1, 24);
            p = C.try_resize(p, 24, 40);
            p = C.try_resize(p, 40, 80);
            sink = p;
            C.release(p);
        }
        const double a = now() - t;
        t = now();
        for (int i = 0; i < n; ++i) {
            void* p = C.try_allocate(24);
            std::memset(p, 1, 24);
            void* q = C.try_allocate(40);
            std::memcpy(q, p, 24);
            C.release(p);
            p = C.try_allocate(80);
            std::memcpy(p, q, 40);
            C.release(q);
            sink = p;
            C.release(p);
        }
        const double m = now() - t;
        slow = a > 2 * m;
        std::printf("allocate, two resizes, release: try_resize %.1f ns, by hand %.1f ns\n", a * 1e9 / n, m * 1e9 / n);
    }
    return slow;
}
