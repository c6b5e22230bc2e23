// chunk_arena of fit::best: allocate 256, resize to 100 (a realloc that shrinks, as SQLite and std::string-like code
// do), deallocate. Expected about a pair and a few ns (runs: 18.7); 142.6 ns against 7.5 for the pair: each shrink cuts
// a run in the free-run index, far more than the same under fit::runs or without the resize. Today: falls short with
// -O1 and more; a time, so sanitizers and -O0 say nothing.
#include <allot/chunk_arena.hpp>
#include <cstdio>
#include <ctime>
using namespace allot::literals;
struct best : allot::policies<allot::heap::per_thread> {};
struct runs : allot::policies<allot::fit::runs, allot::heap::per_thread> {};
static double now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}
static bool slow = false;
template <class S> void run(const char* name) {
    allot::chunk_arena<S> a{allot::limit{256_MiB}};
    const int n = 500000;
    void* volatile sink;
    std::size_t did = 0;
    double t = now();
    for (int i = 0; i < n; ++i) {
        auto b = a.allocate(256);
        sink = b.address;
        a.deallocate(b.address);
    }
    const double pair = now() - t;
    t = now();
    for (int i = 0; i < n; ++i) {
        auto b = a.allocate(256);
        sink = b.address;
        did += bool(a.resize(b.address, 100));
        a.deallocate(b.address);
    }
    const double shrink = now() - t;
    t = now();
    for (int i = 0; i < n; ++i) {
        auto b = a.allocate(100);
        sink = b.address;
        auto c = a.resize(b.address, 256);
        did += bool(c);
        a.deallocate(b.address);
    }
    const double grow = now() - t;
    slow |= shrink > 5 * pair;
    std::printf("%s: pair %.1f ns, with a shrink %.1f ns, with a growth %.1f ns (%zu resized)\n", name, pair * 1e9 / n,
                shrink * 1e9 / n, grow * 1e9 / n, did);
}
int main() {
    run<best>("best");
    run<runs>("runs");
    return slow;
}
