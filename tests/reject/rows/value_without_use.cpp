// expected-error {{this set has no use for a constructor argument}} {{product::row_manager}} {{orders}}
// {{arena}}
#include <allot/row_manager.hpp>

using namespace allot::literals;

struct orders : allot::policies<allot::size::packed> {};

int main() {
    allot::arena<> shared{allot::limit{64_MiB}};
#if WRONG
    allot::row_manager<orders> rows{allot::limit{1_MiB}, shared};
#else
    allot::row_manager<orders> rows{allot::limit{1_MiB}};
#endif
    rows.release(rows.allocate(8));
}
