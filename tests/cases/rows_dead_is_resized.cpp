// count::none: try_resize() of a released row. Expected: null, and an abort in checked builds, as moving.md, What it
// finds, said of every row that is not live; rules.md, Misuse, said "undefined" for other calls on released rows of
// uncounted sets, so the two pages disagreed. Happened: it was resized, also in checked builds. (No slot was handed out
// twice here.) Today: both pages say "undefined"; a checked build aborts, and says so. Falls short in other builds: to
// find its slot, in its page and in all caches, takes 4,200 instructions more than the 150 of a resize.
#include <allot/row_manager.hpp>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>
using namespace allot::literals;
struct set_ : allot::policies<allot::count::none> {};
int main() {
    allot::row_manager<set_> rows{allot::limit{8_MiB}, allot::page_bytes{16_KiB}};
    std::vector<void*> all;
    for (int i = 0; i < 300; ++i) all.push_back(rows.allocate(60));
    auto local = rows.local();
    local.release(all[7]); // its slot is in the handle's cache
    allot::charge_status why;
    void* now = rows.try_resize(all[7], 60, 5000, &why);
    std::printf("resize of a released row: %p (null expected)\n", now);
    std::set<void*> seen;
    int twice = 0;
    for (int i = 0; i < 2000; ++i)
        if (!seen.insert(i % 2 ? local.allocate(60) : rows.allocate(60)).second) ++twice;
    std::printf("addresses handed out twice: %d (0 expected), live %zu, valid %d\n", twice, rows.live_rows(),
                rows.valid());
    std::fflush(stdout);
    std::_Exit(now != nullptr || twice != 0);
}
