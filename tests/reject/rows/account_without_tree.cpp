// expected-error {{this set has no use for a constructor argument}} {{product::row_manager}} {{orders}}
// {{account}}
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

using namespace allot::literals;

struct orders : allot::policies<allot::ledger::counter> {};

int main() {
    allot::account query{allot::name{"query"}, allot::limit{64_MiB}};
#if WRONG
    allot::row_manager<orders> rows{allot::limit{1_MiB}, query};
#else
    allot::row_manager<orders> rows{allot::limit{1_MiB}};
#endif
    rows.release(rows.allocate(8));
    return query.used() == 0 ? 0 : 1;
}
