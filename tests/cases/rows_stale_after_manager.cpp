// Shared arena: a manager ends with a row (reported as a leak); the next manager takes its page. A stale allot::release
// of the old row. Expected (rules.md, Misuse: calls on addresses of the arena are ignored in counted sets while the
// slot holds no new row): ignored. It was: the old header is still in the page, so it counts as a live row of the new
// manager; a slot that was never handed out is freed, and two rows get one address. Today: holds in every build; a
// checked one aborts at the stale release, which it reports.
#include <allot/row_manager.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <vector>
using namespace allot::literals;
using arena_t = allot::arena<>;
struct set_ : allot::policies<allot::page::of<arena_t>> {};
int main() {
    arena_t arena{allot::limit{8_MiB}, allot::page_bytes{16_KiB}};
    std::optional<allot::row_manager<set_>> m;
    m.emplace(arena, allot::leak_sink{[](void*, std::string_view) noexcept {}, nullptr});
    std::vector<void*> old;
    for (int i = 0; i < 200; ++i) old.push_back(m->allocate(60));
    m.reset();
    m.emplace(arena);
    std::set<void*> seen{m->allocate(60)};
    allot::release(old[150]);
    std::printf("live rows %zu (1 expected)\n", m->live_rows());
    int twice = 0;
    for (int i = 0; i < 2000; ++i)
        if (!seen.insert(m->allocate(60)).second) ++twice;
    std::printf("addresses handed out twice: %d (0 expected), valid %d\n", twice, m->valid());
    std::fflush(stdout);
    std::_Exit(twice != 0);
}
