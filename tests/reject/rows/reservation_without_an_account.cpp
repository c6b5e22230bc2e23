// expected-error {{a reservation is charged to a parent; pass an account too}}
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

using namespace allot::literals;

struct orders : allot::policies<allot::ledger::tree> {};

int main() {
    allot::account query{allot::name{"query"}, allot::limit{64_MiB}};
#if WRONG
    allot::row_manager<orders> rows{allot::reservation{1_MiB}};
#else
    allot::row_manager<orders> rows{query, allot::reservation{1_MiB}, allot::grace{64_KiB}};
#endif
    rows.release(rows.allocate(8));
    return query.used() == 1_MiB ? 0 : 1;
}
