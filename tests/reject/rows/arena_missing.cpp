// expected-error {{this set needs a constructor argument that is missing}} {{product::row_manager}} {{orders}}
// {{arena}}
#include <allot/row_manager.hpp>

using namespace allot::literals;

struct orders : allot::policies<allot::page::of<allot::arena<>>> {};

int main() {
    allot::arena<> shared{allot::limit{64_MiB}};
#if WRONG
    allot::row_manager<orders> rows{allot::limit{1_MiB}};
#else
    allot::row_manager<orders> rows{allot::limit{1_MiB}, shared};
#endif
    rows.release(rows.allocate(8));
}
