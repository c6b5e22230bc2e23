// expected-error {{rows of a store are charged to an account; add ledger::tree or ledger::pool to the set}}
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_rows.hpp>

#if WRONG
struct rows_of_a_store : allot::policies<> {};
#else
struct rows_of_a_store : allot::policies<allot::ledger::tree> {};
#endif

int main() {
    allot::account near{allot::name{"near"}}, far{allot::name{"far"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::spill_memory there{memory, far};
    allot::store inputs{near, there};
    allot::row_manager<rows_of_a_store> rows;
    allot::row_array<rows_of_a_store> array{rows};
    static_cast<void>(inputs.put(std::move(array)));
}
