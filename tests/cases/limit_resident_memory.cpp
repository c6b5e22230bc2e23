// Four managers below one account of 256 MiB use 200 MiB each, one after the other. Expected: a limit that holds for
// the process (house.md law 1). Holds in every build without sanitizers.
#include "common.hpp"
struct set : allot::policies<allot::ledger::tree, allot::oom::null> {};
int main(int argc, char** argv) {
    const bool shared = argc > 1 && argv[1][0] == 's';
    allot::account engine{allot::name{"engine"}, allot::limit{256_MiB}};
    const std::size_t start = vm("VmRSS:");
    std::printf("start: %zu MiB resident\n", start);
    if (!shared) {
        allot::row_manager<set> a{engine, allot::name{"a"}}, b{engine, allot::name{"b"}}, c{engine, allot::name{"c"}},
            d{engine, allot::name{"d"}};
        allot::row_manager<set>* all[] = {&a, &b, &c, &d};
        for (auto* m : all) {
            std::vector<void*> rows;
            for (int i = 0; i != 200; ++i) {
                void* r = m->try_allocate(1'000'000);
                if (!r) break;
                std::memset(r, 1, 1'000'000);
                rows.push_back(r);
            }
            for (void* r : rows) m->release(r);
            std::printf("%s: %zu rows of 1 MB; engine used now %zu peak %zu of %zu MiB; resident %zu MiB\n", m->name(),
                        rows.size(), engine.used() >> 20, engine.peak() >> 20, engine.limit() >> 20,
                        vm("VmRSS:") - start);
        }
        // small rows: pages become empty and stay charged, until others are short
        for (auto* m : all) {
            std::vector<void*> rows;
            for (int i = 0; i != 200'000; ++i) {
                void* r = m->try_allocate(1000);
                if (!r) break;
                std::memset(r, 1, 1000);
                rows.push_back(r);
            }
            for (void* r : rows) m->release(r);
            std::printf("%s: %zu rows of 1 KB; engine used now %zu peak %zu MiB; resident %zu MiB\n", m->name(),
                        rows.size(), engine.used() >> 20, engine.peak() >> 20, vm("VmRSS:") - start);
        }
    }
    std::printf("VmHWM %zu MiB\n", vm("VmHWM:") - start);
    return vm("VmHWM:") - start > 256 + 16;
}
