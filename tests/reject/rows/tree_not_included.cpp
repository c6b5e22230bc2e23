// expected-error {{only declared: include its header}} {{orders}} {{ledger::tree}}
#include <allot/account/account.hpp>
#if !WRONG
#include <allot/ledger/tree.hpp>
#endif
#include <allot/row_manager.hpp>

using namespace allot::literals;

struct orders : allot::policies<allot::ledger::tree> {};

int main() {
    allot::account query{allot::name{"query"}, allot::limit{64_MiB}};
    allot::row_manager<orders> rows{allot::limit{1_MiB}, query};
    rows.release(rows.allocate(8));
    allot::account& own = rows.account();
    const auto& same = rows.account();
    return own.used() == same.used() ? 0 : 1;
}
