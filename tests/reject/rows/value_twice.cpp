// expected-error {{a constructor argument is given twice}} {{product::row_manager}} {{orders}} {{limit}}
#include <allot/row_manager.hpp>

using namespace allot::literals;

struct orders : allot::policies<> {};

int main() {
#if WRONG
    allot::row_manager<orders> rows{allot::limit{1_MiB}, allot::limit{2_MiB}};
#else
    allot::row_manager<orders> rows{allot::limit{1_MiB}};
#endif
    rows.release(rows.allocate(8));
}
