// use::containers: after all rows of a size are released, the thread's cache of 64 slots may keep a page of 64 KiB
// each. Expected: few pages stay charged for a size without rows; N stay, until a request is refused or
// release_empty_pages() is called. Counted are bytes of pages in use, used() less stats().idle: since a limit bounds
// resident memory, used() has free pages too, until trim(), or until a request that would be refused takes them. Before
// that used() fell by them, so the same was counted. Today: holds in every build.
#include <algorithm>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>
#include <cstdio>
#include <random>
#include <vector>
using namespace allot::literals;
int main() {
    allot::row_manager<allot::use::containers> rows{allot::limit{1_GiB}};
    const auto in_use = [&] { return rows.used() - rows.stats().idle; };
    std::mt19937 r(1);
    bool pins = false;
    for (std::size_t n : {48ul, 208ul, 1024ul}) {
        std::vector<void*> v;
        const std::size_t before = in_use();
        for (std::size_t i = 0; i < 8_MiB / n; ++i) v.push_back(rows.allocate(n));
        const std::size_t full = in_use() - before;
        std::shuffle(v.begin(), v.end(), r);
        for (void* p : v) rows.release(p, n);
        void* other = rows.allocate(n * 3);
        void* big = rows.allocate(300000); // page requests: they collect empty pages
        std::printf(
            "%zu bytes: %zu KiB with all rows; %zu KiB stay charged without any (beside %zu rows of other sizes)", n,
            full >> 10, (in_use() - before) >> 10, rows.live_rows());
        pins |= in_use() - before > 1_MiB + 300000;
        rows.release(other);
        rows.release(big);
        const std::size_t now = in_use();
        const std::size_t given = rows.release_empty_pages();
        std::printf("; release_empty_pages gives %zu of %zu KiB\n", given >> 10, now >> 10);
    }
    return pins;
}
