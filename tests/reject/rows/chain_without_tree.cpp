// expected-error {{a policy needs a property that no policy of the set provides}} {{orders}} {{spill::chain}}
// {{accounts}}
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row_manager.hpp>

using namespace allot::literals;

#if WRONG
struct orders : allot::policies<allot::spill::chain> {};
#else
struct orders : allot::policies<allot::spill::chain, allot::ledger::tree> {};
#endif

int main() {
    allot::row_manager<orders> rows{allot::limit{1_MiB}};
    rows.release(rows.allocate(8));
}
