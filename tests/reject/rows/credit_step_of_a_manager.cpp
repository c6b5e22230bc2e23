// expected-error {{takes no credit_step, since it is charged whole pages}}
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

using namespace allot::literals;

struct orders : allot::policies<allot::ledger::tree> {};

int main() {
    allot::account query{allot::name{"query"}, allot::limit{64_MiB}};
#if WRONG
    allot::row_manager<orders> rows{query, allot::credit_step{1_MiB}};
#else
    allot::row_manager<orders> rows{query, allot::watermark{64_KiB}};
#endif
    rows.release(rows.allocate(8));
    return query.used() != 0 ? 0 : 1;
}
