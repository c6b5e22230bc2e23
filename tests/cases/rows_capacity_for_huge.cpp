// capacity_for() of sizes that no row of the manager can have. Expected (row_manager.hpp, moving.md): "0: no row can be
// so large" (rules.md: at most the arena's address space, and 2^63 - 1 bytes less headers). It was: the size, for 2^62
// bytes in a manager that reserved 144 MiB too. Today: holds in every build.
#include <allot/row_manager.hpp>
#include <cstdio>
using namespace allot::literals;
struct set_ : allot::policies<> {};
int main() {
    allot::row_manager<set_> rows{allot::limit{64_MiB}};
    int bad = 0;
    for (std::size_t n : {200_MiB, std::size_t(1) << 48, std::size_t(1) << 62, std::size_t(PTRDIFF_MAX) - 200}) {
        const std::size_t says = rows.capacity_for(n);
        void* row = rows.try_allocate(n);
        std::printf("%zu bytes: capacity_for %zu, try_allocate %p\n", n, says, row);
        bad += says != 0 && row == nullptr;
    }
    return bad;
}
