// count::none: dead rows in the span of compact(), whose slots lie in the cache of a living local() handle, are moved
// as if they were live. Expected (moving.md, Compaction): "a row that is not live: no; it is counted as ignored". It
// was: they move, their slots are freed a second time, and later two rows get one address; valid() and checked builds
// say nothing. Today: holds in every build.
#include <allot/row_manager.hpp>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>
using namespace allot::literals;
struct set_ : allot::policies<allot::count::none> {};
int main() {
    allot::row_manager<set_> rows{allot::limit{8_MiB}, allot::page_bytes{16_KiB}};
    auto local = rows.local();
    std::vector<void*> all, dead, span;
    for (int i = 0; i < 4000; ++i) all.push_back(local.allocate(60));
    for (int i = 0; i < 4000; ++i)
        if (i < 20 && i % 2) span.push_back(all[i]); // 10 live rows
        else if (i >= 20 && i % 100 == 10 && dead.size() < 5) dead.push_back(all[i]);
        else rows.release(all[i]);
    for (void* p : dead) local.release(p); // their slots are in the handle's cache
    for (void* p : dead) span.push_back(p);
    const auto c = rows.compact(span);
    std::printf("10 live, 5 dead in the span: ignored %zu (5 expected), moved %zu, kept %zu, live rows %zu\n",
                c.ignored, c.moved, c.kept, rows.live_rows());
    std::set<void*> seen(span.begin(), span.begin() + 10);
    int twice = 0;
    for (int i = 0; i < 4000; ++i)
        if (!seen.insert(i % 2 ? local.allocate(60) : rows.allocate(60)).second) ++twice;
    std::printf("addresses handed out twice: %d (0 expected), valid() %d\n", twice, rows.valid());
    std::fflush(stdout);
    std::_Exit(twice != 0 || c.ignored != 5);
}
