// expected-error {{a set names two policies of one category}} {{orders}} {{category::slots}} {{slots::linked}}
// {{slots::bitmap}}
#include <allot/row_manager.hpp>

using namespace allot::literals;

#if WRONG
struct orders : allot::policies<allot::slots::linked, allot::slots::bitmap> {};
#else
struct orders : allot::policies<allot::slots::linked> {};
#endif
struct line {
    int number;
};

int main() {
    allot::row_manager<orders> rows{allot::limit{1_MiB}, allot::name{"orders"}};
    auto heap = rows.heap(allot::as<allot::heap::unique>, 48);
    auto local = heap.local();
    local.release(local.allocate());
    auto made = rows.make<line>();
    rows.release(rows.allocate(made->number == 0 ? 8 : 9));
    return rows.used() > rows.limit();
}
